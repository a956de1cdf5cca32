// Providers are asked for plain bytes. What comes compressed all the same reaches no client so, whatever its door, its status and its wishes.
import { gzipSync } from 'node:zlib';
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { rawRequest } from '../support/raw-http.ts';
import { shareGateway } from '../support/shared.ts';
import { authorization, host, jsonType, request } from './raw-cases.ts';

const upstream = await startFakeUpstream({ t: suite });
const dialects = ['chat', 'responses', 'embeddings', 'audio', 'images', 'moderations', 'rerank'];
const gateway = await shareGateway({
  config: {
    providers: {
      fake: {
        type: 'openai',
        base_url: upstream.url,
        api_key: 'sk-a',
        models: ['m'],
        dialects,
        circuit_breaker: false,
      },
    },
  },
});

const message = { role: 'assistant', content: 'Hello.' };
const completion = { id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] };
const file = { id: 'file-1', object: 'file', bytes: 1, created_at: 1, filename: 'a', purpose: 'batch' };
const ask = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const long = { ...completion, padding: 'all is well '.repeat(40_000) };

/** Method, path, what is sent, and what the provider means to say. */
const doors: readonly (readonly [line: string, sent: object | undefined, said: object])[] = [
  ['POST /v1/chat/completions', ask, completion],
  ['POST /v1/chat/completions', ask, long],
  ['POST /v1/messages', { ...ask, max_tokens: 9 }, completion],
  ['POST /v1/responses', { model: 'm', input: 'hi', store: false }, { id: 'resp_1', object: 'response', output: [] }],
  ['POST /v1/embeddings', { model: 'm', input: 'hi' }, { data: [{ embedding: [1] }] }],
  ['POST /v1/audio/speech', { model: 'm', input: 'hi', voice: 'a' }, { sound: 1 }],
  ['POST /v1/images/generations', { model: 'm', prompt: 'hi' }, { data: [] }],
  ['POST /v1/moderations', { model: 'm', input: 'hi' }, { results: [] }],
  ['POST /v1/rerank', { model: 'm', query: 'a', documents: ['b'] }, { results: [] }],
  ['POST /p/fake/chat/completions', ask, completion],
  ['GET /p/fake/models', undefined, { data: ['words '.repeat(40_000)] }],
  ['GET /v1/files/file-1?provider=fake', undefined, file],
  ['GET /v1/files/file-1/content?provider=fake', undefined, { lines: 'x'.repeat(200_000) }],
];

/** What is translated says when, and under which id. */
const withoutTimes = (text: string): string => text.replace(/"(created|id)":("[^"]*"|\d+)/g, '');

async function answerTo(line: string, sent: object | undefined, accepts: readonly string[]) {
  const body = sent === undefined ? '' : JSON.stringify(sent);
  const { responses } = await rawRequest(
    gateway.port,
    request(`${line} HTTP/1.1`, [host, authorization, jsonType, ...accepts], body),
  );
  const [answer] = responses;
  if (answer === undefined) throw new Error(`no answer to ${line}`);
  return answer;
}

const form = new FormData();
form.set('purpose', 'user_data');
form.set('file', new Blob(['a']), 'a.txt');
await upstream.behave({ kind: 'json', body: file });
const upload = await fetch(`${gateway.url}/v1/files?provider=fake`, {
  method: 'POST',
  headers: { authorization: authorization.replace('Authorization: ', '') },
  body: form,
});
if (!upload.ok) throw new Error(await upload.text());

await test('an answer that comes compressed is plain for its client, at every door', async (t) => {
  for (const [line, sent, said] of doors) {
    await upstream.behave({ kind: 'json', body: said });
    const plain = await answerTo(line, sent, []);
    t.match([plain.status, upstream.ledger.at(-1)?.header('accept-encoding')], [200, 'identity'], line);
    const headers = [['content-encoding', 'gzip'] as const];
    await upstream.behave({ kind: 'json', body: gzipSync(JSON.stringify(said)), headers });
    for (const accepts of [[], ['Accept-Encoding: gzip']]) {
      const answer = await answerTo(line, sent, accepts);
      t.match([answer.status, answer.header('content-encoding'), answer.complete], [200, undefined, true], line);
      t.equal(withoutTimes(answer.text()), withoutTimes(plain.text()), line);
    }
  }
});

await test('neither is an error, nor an answer in an encoding that is not known', async (t) => {
  const error = JSON.stringify({ error: { message: 'busy', code: 'busy' } });
  for (const [line, sent] of doors) {
    await upstream.behave({
      kind: 'json',
      status: 429,
      body: gzipSync(error),
      headers: [['content-encoding', 'gzip']],
    });
    const refused = await answerTo(line, sent, ['Accept-Encoding: gzip']);
    t.match([refused.status, refused.header('content-encoding')], [429, undefined], line);
    t.match(refused.json(), { error: { message: 'busy' } }, line);
    await upstream.behave({ kind: 'json', body: 'odd', headers: [['content-encoding', 'compress']] });
    const odd = await answerTo(line, sent, ['Accept-Encoding: compress']);
    t.match([odd.status, odd.header('content-encoding')], [502, undefined], line);
    t.match(odd.json(), { error: { code: 'upstream_invalid_response', message: /encoded as compress/ } }, line);
  }
});

await test('an answer without a body may name an encoding', async (t) => {
  for (const encoding of ['gzip', 'compress']) {
    const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: ${encoding}\r\nContent-Length: 99\r\n\r\n`;
    await upstream.behave({ kind: 'raw', steps: [head] });
    const { responses } = await rawRequest(gateway.port, request('HEAD /p/fake/x HTTP/1.1', [host, authorization]), {
      head: true,
    });
    t.match([responses[0]?.status, responses[0]?.header('content-encoding')], [200, undefined], encoding);
  }
});
