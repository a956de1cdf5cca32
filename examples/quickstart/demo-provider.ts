// A demo provider: serves the OpenAI API on one port, so that the quickstart needs no account.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  chatModels,
  composeAnswer,
  countPromptTokens,
  digest,
  embed,
  embeddingDimensions,
  embeddingModel,
  tokenise,
} from './demo-answers.ts';
import {
  type Body,
  type EmbeddingInput,
  Refusal,
  readBody,
  readChat,
  readInputs,
  readPositive,
  requireMethod,
  requireModel,
} from './demo-requests.ts';

type Usage = { prompt_tokens: number; completion_tokens: number; total_tokens: number };
type Reply = { id: string; model: string; said: string[]; finish: string; usage: Usage; wantsUsage: boolean };

const host = '127.0.0.1';
const tokenIntervalMs = 30;
// A fixed moment keeps answers equal from one run to the next.
const created = 1_767_225_600;
const models = [...chatModels, embeddingModel];
const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => refuse(response, error));
});
let stopping = false;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').replace(/\?.*$/s, '').replace(/^\/v1(?=\/|$)/, '');
  if (path === '/chat/completions') {
    requireMethod(request, 'POST');
    await completeChat(await readBody(request), response);
  } else if (path === '/embeddings') {
    requireMethod(request, 'POST');
    sendJson(response, 200, createEmbeddings(await readBody(request)));
  } else if (path === '/models') {
    requireMethod(request, 'GET');
    sendJson(response, 200, { object: 'list', data: models.map(describeModel) });
  } else if (path.startsWith('/models/')) {
    requireMethod(request, 'GET');
    sendJson(response, 200, describeModel(requireModel(path.slice('/models/'.length), models)));
  } else {
    throw new Refusal(404, `Unknown request URL: ${request.method} ${request.url}.`, null, 'unknown_url');
  }
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  const length = Buffer.byteLength(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length });
  response.end(body);
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const refusal = error instanceof Refusal ? error : new Refusal(500, 'The demo provider failed to answer.');
  const { message, param, code } = refusal;
  const type = refusal.status >= 500 ? 'server_error' : 'invalid_request_error';
  sendJson(response, refusal.status, { error: { message, type, param, code } });
}

function describeModel(id: string): object {
  return { id, object: 'model', created, owned_by: 'demo' };
}

async function completeChat(body: Body, response: ServerResponse): Promise<void> {
  const model = requireModel(body['model'], chatModels);
  const { messages, limit, stream, wantsUsage } = readChat(body);
  const tokens = tokenise(composeAnswer(model, messages));
  const said = tokens.slice(0, limit);
  const finish = said.length < tokens.length ? 'length' : 'stop';
  const prompt = countPromptTokens(messages);
  const usage = { prompt_tokens: prompt, completion_tokens: said.length, total_tokens: prompt + said.length };
  const id = `chatcmpl-${digest(JSON.stringify(body)).slice(0, 29)}`;
  if (stream) {
    await streamChat(response, { id, model, said, finish, usage, wantsUsage });
    return;
  }
  const message = { role: 'assistant', content: said.join(''), refusal: null };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
  sendJson(response, 200, {
    id,
    object: 'chat.completion',
    created,
    model,
    choices,
    usage,
    system_fingerprint: 'fp_demo',
  });
}

async function streamChat(response: ServerResponse, reply: Reply): Promise<void> {
  const { id, model } = reply;
  const frame = { id, object: 'chat.completion.chunk', created, model, system_fingerprint: 'fp_demo' };
  // Asked for usage, the API puts `usage: null` into every chunk but the one that carries it.
  const send = (choices: object[], usage: Usage | null = null) => {
    const chunk = reply.wantsUsage ? { ...frame, choices, usage } : { ...frame, choices };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  const sendDelta = (delta: object, finish: string | null = null) =>
    send([{ index: 0, delta, logprobs: null, finish_reason: finish }]);

  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  sendDelta({ role: 'assistant', content: '', refusal: null });
  for (const content of reply.said) {
    await sleep(tokenIntervalMs);
    if (response.destroyed) return;
    sendDelta({ content });
  }
  sendDelta({}, reply.finish);
  if (reply.wantsUsage) send([], reply.usage);
  response.end('data: [DONE]\n\n');
}

function createEmbeddings(body: Body): object {
  const model = requireModel(body['model'], [embeddingModel]);
  const inputs = readInputs(body['input']);
  const format = body['encoding_format'] ?? 'float';
  if (format !== 'float' && format !== 'base64') {
    throw new Refusal(400, "'encoding_format' must be 'float' or 'base64'.", 'encoding_format', 'invalid_value');
  }
  const dimensions = readPositive(body, 'dimensions') ?? embeddingDimensions;
  if (dimensions > embeddingDimensions) {
    throw new Refusal(400, `'dimensions' must be at most ${embeddingDimensions}.`, 'dimensions', 'invalid_value');
  }
  const data = inputs.map((input, index) => {
    const vector = embed(input, dimensions);
    const embedding = format === 'float' ? [...vector] : Buffer.from(vector.buffer).toString('base64');
    return { object: 'embedding', index, embedding };
  });
  const size = (input: EmbeddingInput) => (typeof input === 'string' ? tokenise(input).length : input.length);
  const prompt = inputs.reduce((sum, input) => sum + size(input), 0);
  return { object: 'list', data, model, usage: { prompt_tokens: prompt, total_tokens: prompt } };
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
server.listen(Number(port), host);
await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
  const reason = error.code === 'EADDRINUSE' ? 'the port is in use' : error.message;
  fail(`cannot listen on ${host}:${port}: ${reason}; set DEMO_PROVIDER_PORT to a free port.`);
});
process.on('SIGTERM', stop).on('SIGINT', stop);
const bound = server.address();
const address = `http://${host}:${typeof bound === 'object' && bound !== null ? bound.port : port}`;
process.stdout.write(`${JSON.stringify({ level: 'info', name: 'demo-provider', msg: 'listening', address })}\n`);
