// What the record of a refused request says of it: what it asked for where that was read, and nothing where it was not.
import { t as suite, test } from 'tap';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { recordOf } from '../support/journal.ts';
import { shareGateway } from '../support/shared.ts';

const upstream = await startFakeUpstream({ t: suite, models: ['m', 'speech'] });
const gateway = await shareGateway({
  config: {
    audit: { bodies: true },
    server: { body_limit: '64KiB' },
    providers: {
      fake: { type: 'openai', base_url: upstream.url, dialects: ['chat', 'audio'], models: ['m', 'speech'] },
    },
    aliases: [
      { source: 'chat', target: 'fake/m' },
      { source: 'voice', target: 'fake/speech' },
    ],
    guardrails: [{ name: 'words', user_paths: ['/guarded'], keywords: { words: ['forbidden'], action: 'block' } }],
    rate_limits: { user_paths: [{ path: '/none', limits: [{ period: 'hour', max_requests: 1 }] }] },
  },
});

const hello = [{ role: 'user', content: 'hello' }];
// The only request that the rule lets through.
await gateway.fetch('/v1/chat/completions', {
  method: 'POST',
  headers: { 'x-gateway-user-path': '/none' },
  body: { model: 'chat', messages: hello },
});

interface RefusedRequest {
  readonly path?: string;
  readonly userPath?: string;
  readonly body: string | object;
  readonly headers?: Record<string, string>;
}

/** Sends a request that is refused, and gives its record. */
async function refused({
  path = '/v1/chat/completions',
  userPath = '/none/app',
  body,
  headers = {},
}: RefusedRequest): Promise<RequestRecord> {
  const answer = await gateway.fetch(path, {
    method: 'POST',
    headers: { 'x-gateway-user-path': userPath, ...headers },
    body,
  });
  await answer.text();
  return recordOf(gateway, answer.headers.get('x-request-id') ?? '');
}

await test('a 429 by a rule of its user path says what was asked, and belongs to its thread', async (t) => {
  const body = { model: 'chat', stream: true, max_tokens: 7, messages: hello };
  const record = await refused({ body });
  t.match(record, {
    status_code: 429,
    requested_model: 'chat',
    alias_used: true,
    stream: true,
    attempts: [],
    data: { max_tokens: 7, request_body: body, error_code: 'rate_limit_exceeded' },
  });
  t.match(record.session_id, /^auto-/);
  const next = await refused({ body: { ...body, messages: [...hello, { role: 'assistant', content: 'hi' }] } });
  t.equal(next.session_id, record.session_id);
  t.match(await refused({ body: { model: 'fake/m', messages: hello } }), { stream: false, alias_used: false });
});

await test('so does that of a door whose words are passed on', async (t) => {
  const speech = { model: 'voice', input: 'hello', voice: 'alloy' };
  t.match(await refused({ path: '/v1/audio/speech', body: speech }), {
    status_code: 429,
    requested_model: 'voice',
    alias_used: true,
    stream: false,
    data: { request_body: speech },
  });
  const passed = { model: 'm', stream: true, messages: hello };
  t.match(await refused({ path: '/p/fake/chat/completions', body: passed }), {
    status_code: 429,
    requested_model: 'm',
    alias_used: false,
    stream: true,
  });
});

await test('an alias at such a door is told of what is answered, too, and speech is not recorded as text', async (t) => {
  await upstream.behave({ kind: 'json', body: 'spoken', headers: [['content-type', 'audio/mpeg']] });
  const answer = await gateway.fetch('/v1/audio/speech', { method: 'POST', body: { model: 'voice', input: 'hello' } });
  t.equal(await answer.text(), 'spoken');
  const record = await recordOf(gateway, answer.headers.get('x-request-id') ?? '');
  t.match(record, { alias_used: true, stream: false, data: { request_body: { input: 'hello' } } });
  t.notOk('response_body' in (record.data ?? {}));
});

await test('what was not read of a refused request is absent', async (t) => {
  const long = await refused({ body: { model: 'chat', stream: true, messages: hello, pad: 'x'.repeat(20_000) } });
  t.equal(long.status_code, 429);
  const tooLong = await refused({ userPath: '/', body: { model: 'chat', pad: 'x'.repeat(70_000) } });
  t.equal(tooLong.status_code, 413);
  const stranger = await refused({ body: { model: 'chat', stream: true }, headers: { authorization: 'Bearer no' } });
  t.equal(stranger.status_code, 401);
  const broken = await refused({ userPath: '/', body: '{"model":"chat","stream":true' });
  t.equal(broken.status_code, 400);
  for (const record of [long, tooLong, stranger, broken])
    for (const name of ['requested_model', 'stream', 'alias_used', 'session_id'])
      t.notOk(name in record, `${record.status_code} ${name}`);
});

await test('a refusal behind the body says all of it, an alias too', async (t) => {
  const body = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'forbidden' }] };
  const facts = { requested_model: 'chat', alias_used: true, stream: true };
  t.match(await refused({ userPath: '/guarded', body }), { status_code: 400, ...facts });
  const issued = await gateway.fetch('/v1/chat/completions', { method: 'POST', body: { ...body, model: 'gone' } });
  await issued.text();
  t.match(await recordOf(gateway, issued.headers.get('x-request-id') ?? ''), {
    status_code: 404,
    requested_model: 'gone',
    alias_used: false,
    stream: true,
  });
  t.match(await refused({ userPath: '/', path: '/v1/audio/speech', body: { model: 'chat', input: 'a' } }), {
    requested_model: 'chat',
    alias_used: true,
  });
});

await test('the record of a call behind /p/ says that no alias was used', async (t) => {
  t.match(await refused({ userPath: '/', path: '/p/fake/chat/completions', body: { model: 'm', messages: hello } }), {
    status_code: 200,
    requested_model: 'm',
    alias_used: false,
  });
});
