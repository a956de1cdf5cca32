// A demo provider: what OpenAI and Anthropic are asked for, on one port, so that the quickstart needs no account.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  answerChat,
  answerMessages,
  answerResponses,
  calls,
  chatModels,
  embeddingModel,
  seedOf,
  styleOf,
} from './calls.ts';
import { openDoors } from './doors.ts';
import { echo } from './echo.ts';
import { cutFor, faults, refuseFor } from './faults.ts';
import { created, sendEvents, sendJson } from './http.ts';
import { imageModel } from './media/images.ts';
import { speechModel } from './media/speech.ts';
import { transcriptionModel } from './media/transcripts.ts';
import { streamMessage, writeMessagesError } from './messages/messages.ts';
import { streamChat, writeOpenAiError } from './openai/chat.ts';
import { moderationModel } from './openai/moderations.ts';
import { rankModel } from './openai/ranks.ts';
import { streamResponse } from './openai/responses-events.ts';
import { isHandshake, realtimeModel, serveRealtime } from './realtime/session-door.ts';
import { type Body, isObject, Refusal, readBody, requireMethod, requireModel } from './requests.ts';

const host = '127.0.0.1';
const mediaModels = [speechModel, transcriptionModel, imageModel, moderationModel, rankModel];
const models = [...chatModels, embeddingModel, realtimeModel, ...mediaModels];
type Endpoint = (body: Body, response: ServerResponse) => Promise<void>;
const streams: Readonly<Record<string, Endpoint>> = {
  '/chat/completions': streamChatTo,
  '/responses': streamResponseTo,
  '/messages': streamMessageTo,
};
const server = createServer({ shouldUpgradeCallback: isHandshake }, (request, response) => {
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
  const call = Object.hasOwn(calls, path) ? calls[path] : undefined;
  if (call) {
    requireMethod(request, 'POST');
    const body = await readBody(request);
    refuseFor(fault);
    const stream = body['stream'] === true ? streams[path] : undefined;
    if (stream) await stream(body, response);
    else sendJson(response, 200, call(body));
    return;
  }
  if (await serveDoor({ path, request, response })) return;
  if (path === '/echo') return echo(request, response);
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

async function streamChatTo(body: Body, response: ServerResponse): Promise<void> {
  const said = answerChat(body);
  const options = body['stream_options'];
  const wantsUsage = isObject(options) && options['include_usage'] === true;
  const style = { isNamed: false, end: 'data: [DONE]\n\n' };
  await sendEvents(response, cutFor(fault, streamChat(said, seedOf(body), wantsUsage)), style, intervalMs);
}

async function streamResponseTo(body: Body, response: ServerResponse): Promise<void> {
  const events = streamResponse(answerResponses(body), seedOf(body), body);
  await sendEvents(response, cutFor(fault, events), { isNamed: true, end: '' }, intervalMs);
}

async function streamMessageTo(body: Body, response: ServerResponse): Promise<void> {
  const events = streamMessage(answerMessages(body), styleOf(body));
  await sendEvents(response, cutFor(fault, events), { isNamed: true, end: '' }, intervalMs);
}

function stop(): void {
  if (stopping) process.exit(0);
  stopping = true;
  realtime.end();
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
const wanted = process.env['DEMO_PROVIDER_FAULT'] || undefined;
const fault = faults.find((name) => name === wanted);
if (fault !== wanted) fail(`DEMO_PROVIDER_FAULT must be one of ${faults.join(', ')}, or unset.`);
const serveDoor = openDoors(intervalMs);
server.listen(Number(port), host);
await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
  const reason = error.code === 'EADDRINUSE' ? 'the port is in use' : error.message;
  fail(`cannot listen on ${host}:${port}: ${reason}; set DEMO_PROVIDER_PORT to a free port.`);
});
const realtime = serveRealtime(server, intervalMs);
process.on('SIGTERM', stop).on('SIGINT', stop);
const bound = server.address();
const address = `http://${host}:${typeof bound === 'object' && bound !== null ? bound.port : port}`;
process.stdout.write(`${JSON.stringify({ level: 'info', name: 'demo-provider', msg: 'listening', address })}\n`);
