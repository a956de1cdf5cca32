// Clients and providers of one format: what is sent is the client's bytes but for the model's name, what comes back the provider's bytes.
import { t as suite, test } from 'tap';
import { type Behaviour, type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import { untilIdle } from '../support/gateway.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const provider = { base_url: upstream.url, api_key: 'a-provider-key-123', models: ['the/model-id'] };
const gateway = await shareGateway({
  config: {
    server: { access_log: 'all' },
    providers: {
      anthropic: { ...provider, type: 'anthropic' },
      pinned: { ...provider, type: 'anthropic', headers: { 'anthropic-version': '2030-01-01' } },
      openai: { ...provider, type: 'openai', dialects: ['responses'] },
      mistral: { ...provider, type: 'mistral' },
    },
  },
});

/** Members in an odd order, of odd spelling, unknown ones, numbers and escapes that a parser would change, proofs of thoughts. */
const thought = '{"type":"thinking","thinking":"Hm\\u00e9…","signature":"EqQBCgIYAhIM+/=="}';
const bodies = {
  messages: (model: string, stream: boolean) =>
    ` {"metadata" : {"user_id":"u","model":"none"},\n"messages":[{"role":"assistant","content":[${thought},{"type":"redacted_thinking","data":"x"}]},{"role":"user","content":"\\ud83c\\udfd4 2.50","cache_control":{"type":"ephemeral"}}],"max_tokens":1e3,"model" :${model},"temperature":1.0,"betas":[],"x_new":{"a":[12345678901234567890]},"stream":${stream}} `,
  responses: (model: string, stream: boolean) =>
    `{"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA+/="}],"store":false,"stream":${stream},\r\n"model":${model},"include":["reasoning.encrypted_content"],"x_new":-0.0,"tools":[{"type":"unheard_of","model":"none"}]}`,
};
const answers = {
  messages: `{"id":"msg_1","type":"message","model":"the/model-id","content":[${thought}],"usage":{"input_tokens":5,"cache_read_input_tokens":70,"cache_creation_input_tokens":20,"output_tokens":9,"service_tier":"x"},"x_new":1.0}\n`,
  responses:
    '{"id":"resp_1","object":"response","output":[{"type":"unheard_of","usage":{"input_tokens":1}}],"usage":{"input_tokens":95,"input_tokens_details":{"cached_tokens":70},"output_tokens":9,"total_tokens":104},"x_new":1.0}',
};
const streams = {
  messages: [
    'event: message_start\r\ndata: {"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":5,"cache_read_input_tokens":70,"cache_creation_input_tokens":20,"output_tokens":1}}}\r\n\r\n',
    ': a comment\n\nevent: ping\ndata: {"type": "ping"}\n\n',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB+/=="}}\n\n',
    'event: unheard_of\nid: 7\ndata: {"type":"unheard_of",\ndata: "error":null}\n\n',
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}\n\n',
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  ],
  responses: [
    'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","usage":null}}\n\n',
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"Hé","obfuscation":"aXf"}\n\n',
    'event: response.unheard_of\ndata: {"type":"response.unheard_of","x":1.0}\n\n',
    `event: response.completed\ndata: {"type":"response.completed","response":${answers.responses}}\n\n`,
  ],
};
const ways = [
  ['messages', '/v1/messages', 'anthropic'],
  ['responses', '/v1/responses', 'openai'],
] as const;

interface Exchanged {
  readonly sent: Entry | undefined;
  readonly status: number;
  readonly text: string;
  readonly headers: ReadonlyMap<string, string>;
}

async function exchange(behaviour: Behaviour, path: string, body: string, headers = {}): Promise<Exchanged> {
  await upstream.behave(behaviour);
  const index = upstream.ledger.length;
  const response = await gateway.fetch(path, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });
  const text = await response.text();
  return { sent: upstream.ledger[index], status: response.status, text, headers: new Map(response.headers) };
}

/** What was charged for it. */
async function chargedFor({ headers }: Exchanged): Promise<Record<string, unknown>> {
  const id = headers.get('x-request-id');
  return waitFor('its line', () => gateway.process.requests().find(({ request_id }) => request_id === id));
}

const charged = { prompt_tokens: 95, completion_tokens: 9, total_tokens: 104, tokens_source: 'reported' };

suite.afterEach(() => untilIdle(gateway));

for (const [format, path, name] of ways) {
  await test(`${format}: only the name of the model changes, and nothing of the answer`, async (t) => {
    const model = JSON.stringify(`${name}/the/model-id`);
    const whole = await exchange({ kind: 'json', body: answers[format] }, path, bodies[format](model, false));
    t.equal(whole.sent?.body.toString(), bodies[format]('"the/model-id"', false));
    t.equal(whole.sent?.target, path);
    t.equal(whole.text, answers[format]);
    t.notOk(whole.headers.has('x-gateway-dropped'));
    t.match(await chargedFor(whole), charged);

    const bytes = Buffer.from(streams[format].join(''));
    // Cut anywhere, also within letters and line ends.
    const chunks = Array.from({ length: Math.ceil(bytes.length / 23) }, (_, at) =>
      bytes.subarray(at * 23, at * 23 + 23),
    );
    const streamed = await exchange({ kind: 'sse', chunks }, path, bodies[format](model, true));
    t.equal(streamed.sent?.body.toString(), bodies[format]('"the/model-id"', true), 'no option is added');
    t.equal(streamed.text, bytes.toString());
    t.match(await chargedFor(streamed), charged);
  });
}

await test('an id of a call that another provider gave is changed where the server would refuse it', async (t) => {
  const model = '"mistral/the/model-id"';
  const body = (id: string, asked: string): string =>
    `{"messages":[{"role":"assistant","tool_calls":[{"id":"${id}","type":"function"}]},{"role":"tool","tool_call_id":"${id}","content":"${id}"}],"x_new":1.0,"model":${asked}}`;
  const answer = { kind: 'json', body: '{"object":"chat.completion","choices":[]}' } as const;
  const id = 'call_0123456789abcdef01234567';
  const { sent } = await exchange(answer, '/v1/chat/completions', body(id, model));
  const text = sent?.body.toString() ?? '';
  const [, changed = ''] = /"tool_call_id":"([A-Za-z0-9]{9})"/.exec(text) ?? [];
  t.equal(text, body(changed, '"the/model-id"').replace(`"content":"${changed}"`, `"content":"${id}"`));
  const fit = await exchange(answer, '/v1/chat/completions', body('abcDEF123', model));
  t.equal(fit.sent?.body.toString(), body('abcDEF123', '"the/model-id"'));
});

await test('Anthropic is told the versions that the client names, else one that is known', async (t) => {
  const body = bodies.messages('"anthropic/the/model-id"', false);
  const answer = { kind: 'json', body: answers.messages } as const;
  const { sent: usual } = await exchange(answer, '/v1/messages', body);
  t.match([usual?.header('anthropic-version'), usual?.header('anthropic-beta')], ['2023-06-01', undefined]);
  const versions = { 'anthropic-version': '2024-10-22', 'anthropic-beta': 'context-1m-2025-08-07,fine-grained' };
  const { sent: named } = await exchange(answer, '/v1/messages', body, versions);
  for (const [header, value] of Object.entries(versions)) t.equal(named?.header(header), value);
  t.equal(named?.headers.filter(([header]) => header.toLowerCase() === 'anthropic-version').length, 1);
  t.equal(named?.header('x-api-key'), provider.api_key);
  t.notOk(
    named?.headers.some(([, value]) => value.includes(gateway.masterKey)),
    'the key of the client stays here',
  );
  const { sent: fixed } = await exchange(answer, '/v1/messages', body.replace('"anthropic/', '"pinned/'), versions);
  t.match(
    fixed?.headers.filter(([header]) => header.toLowerCase() === 'anthropic-version').map(([, value]) => value),
    ['2030-01-01'],
  );
});

await test('further members of an error survive in the same format', async (t) => {
  const error = { type: 'invalid_request_error', message: 'No.', details: { limit: 1.5 } };
  const behaviour = { kind: 'json', status: 400, body: { type: 'error', error } } as const;
  const { status, text } = await exchange(behaviour, '/v1/messages', bodies.messages('"anthropic/the/model-id"', true));
  t.equal(status, 400);
  t.match(JSON.parse(text), { type: 'error', error: { ...error, code: null, param: null, provider: 'anthropic' } });
});
