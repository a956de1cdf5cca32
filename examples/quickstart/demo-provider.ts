// A demo provider: chat completions, responses, messages and embeddings on one port, so that the quickstart needs no account.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { digest } from './demo-answers.ts';
import { streamChat, writeChat, writeOpenAiError } from './demo-chat.ts';
import { readChat } from './demo-chat-request.ts';
import { createEmbeddings } from './demo-embeddings.ts';
import { created, sendEvents, sendJson } from './demo-http.ts';
import { streamMessage, writeMessage, writeMessagesError } from './demo-messages.ts';
import { readMessages } from './demo-messages-request.ts';
import { answer, countInput } from './demo-model.ts';
import { type Body, isObject, Refusal, readBody, requireMethod, requireModel } from './demo-requests.ts';
import { writeResponse } from './demo-responses.ts';
import { streamResponse } from './demo-responses-events.ts';
import { readResponses } from './demo-responses-request.ts';

const host = '127.0.0.1';
const chatModels: readonly string[] = ['demo-small', 'demo-large'];
const embeddingModel = 'demo-embedding';
const models = [...chatModels, embeddingModel];
const endpoints: Readonly<Record<string, (body: Body, response: ServerResponse) => Promise<void> | void>> = {
  '/chat/completions': completeChat,
  '/responses': respond,
  '/messages': sendMessage,
  '/messages/count_tokens': countTokens,
  '/embeddings': (body, response) =>
    sendJson(response, 200, createEmbeddings(requireModel(body['model'], [embeddingModel]), body)),
};
const server = createServer((request, response) => {
  const requestId = `req_${randomUUID().replaceAll('-', '')}`;
  const path = pathOf(request);
  const isMessages = path.startsWith('/messages') || 'anthropic-version' in request.headers;
  response.setHeader(isMessages ? 'request-id' : 'x-request-id', requestId);
  route(path, request, response).catch((error: unknown) => {
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    const refusal = error instanceof Refusal ? error : new Refusal(500, 'The demo provider failed to answer.');
    const body = isMessages ? writeMessagesError(refusal, requestId) : writeOpenAiError(refusal);
    sendJson(response, refusal.status, body);
  });
});
let stopping = false;

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.replace(/\?.*$/s, '').replace(/^\/v1(?=\/|$)/, '');
}

async function route(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const endpoint = Object.hasOwn(endpoints, path) ? endpoints[path] : undefined;
  if (endpoint) {
    requireMethod(request, 'POST');
    await endpoint(await readBody(request), response);
    return;
  }
  const [, kept] = /^\/responses\/([^/]+)(\/cancel|\/input_items)?$/.exec(path) ?? [];
  if (kept !== undefined) throw new Refusal(404, `Response with id '${kept}' not found.`);
  if (path !== '/models' && !path.startsWith('/models/')) {
    throw new Refusal(404, `Unknown request URL: ${request.method} ${request.url}.`, null, 'unknown_url');
  }
  requireMethod(request, 'GET');
  const describe = 'anthropic-version' in request.headers ? describeForMessages : describeModel;
  const list = { object: 'list', data: models.map(describe), has_more: false };
  const id = path.slice('/models/'.length);
  sendJson(response, 200, path === '/models' ? list : describe(requireModel(id, models)));
}

function describeModel(id: string): object {
  return { id, object: 'model', created, owned_by: 'demo' };
}

function describeForMessages(id: string): object {
  return { type: 'model', id, display_name: id, created_at: new Date(created * 1000).toISOString() };
}

async function completeChat(body: Body, response: ServerResponse): Promise<void> {
  const said = answer(readChat(requireModel(body['model'], chatModels), body));
  const options = body['stream_options'];
  const wantsUsage = isObject(options) && options['include_usage'] === true;
  if (body['stream'] !== true) return sendJson(response, 200, writeChat(said, seedOf(body)));
  const style = { isNamed: false, end: 'data: [DONE]\n\n' };
  await sendEvents(response, streamChat(said, seedOf(body), wantsUsage), style, intervalMs);
}

async function respond(body: Body, response: ServerResponse): Promise<void> {
  const said = answer(readResponses(requireModel(body['model'], chatModels), body));
  if (body['stream'] !== true) return sendJson(response, 200, writeResponse(said, seedOf(body), body));
  await sendEvents(response, streamResponse(said, seedOf(body), body), { isNamed: true, end: '' }, intervalMs);
}

async function sendMessage(body: Body, response: ServerResponse): Promise<void> {
  const said = answer(readMessages(requireModel(body['model'], chatModels), body, 'answer'));
  const thinking = isObject(body['thinking']) ? body['thinking'] : {};
  const style = { seed: seedOf(body), showsThoughts: thinking['display'] !== 'omitted' };
  if (body['stream'] !== true) return sendJson(response, 200, writeMessage(said, style));
  await sendEvents(response, streamMessage(said, style), { isNamed: true, end: '' }, intervalMs);
}

function countTokens(body: Body, response: ServerResponse): void {
  const conversation = readMessages(requireModel(body['model'], chatModels), body, 'count');
  sendJson(response, 200, { input_tokens: countInput(conversation) });
}

/** Ids come from the body, so that equal requests get equal answers, streamed or not. */
function seedOf(body: Body): string {
  return digest(JSON.stringify({ ...body, stream: undefined, stream_options: undefined }));
}

function stop(): void {
  if (stopping) process.exit(0);
  stopping = true;
  server.close(() => process.exit(0));
  // Closes connections that become idle from now on.
  setInterval(() => server.closeIdleConnections(), 20);
}

function fail(message: string): never {
  process.stderr.write(`demo provider: ${message}\n`);
  process.exit(1);
}

const port = process.env['DEMO_PROVIDER_PORT'] || '8090';
if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) fail('DEMO_PROVIDER_PORT must be a port from 0 to 65535.');
const interval = process.env['DEMO_TOKEN_INTERVAL_MS'] || '30';
if (!/^\d{1,5}$/.test(interval)) fail('DEMO_TOKEN_INTERVAL_MS must be a number of milliseconds from 0 to 99999.');
const intervalMs = Number(interval);
server.listen(Number(port), host);
await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
  const reason = error.code === 'EADDRINUSE' ? 'the port is in use' : error.message;
  fail(`cannot listen on ${host}:${port}: ${reason}; set DEMO_PROVIDER_PORT to a free port.`);
});
process.on('SIGTERM', stop).on('SIGINT', stop);
const bound = server.address();
const address = `http://${host}:${typeof bound === 'object' && bound !== null ? bound.port : port}`;
process.stdout.write(`${JSON.stringify({ level: 'info', name: 'demo-provider', msg: 'listening', address })}\n`);
