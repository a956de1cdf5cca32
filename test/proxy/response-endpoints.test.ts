// What clients of Responses ask besides responses: a WebSocket, a conversation in fewer items, and the tokens of an input.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { providerKey } from '../support/gateway.ts';
import { issueKey } from '../support/issue-key.ts';
import { rawRequest } from '../support/raw-http.ts';
import { shareGateway } from '../support/shared.ts';
import { authorization, head, host } from './raw-cases.ts';

const upstream = await startFakeUpstream({ t: suite });
const provider = { type: 'openai', base_url: upstream.url, api_key: `\${TEST_PROVIDER_KEY}`, models: ['m', 'other'] };
const gateway = await shareGateway({
  config: {
    providers: { native: { ...provider, dialects: ['responses'] }, chat: { ...provider, dialects: ['chat'] } },
    aliases: [{ source: 'both', targets: [{ model: 'chat/m' }, { model: 'native/m' }] }],
    guardrails: [{ name: 'words', user_paths: ['/guarded'], keywords: { words: ['Bluebird'], action: 'redact' } }],
    rate_limits: { user_paths: [{ path: '/once', limits: [{ period: 'minute', max_requests: 1 }] }] },
  },
});
const secret = await issueKey(suite, gateway, { userPath: '/t/a', allowedModels: ['native/m'] });
const compacted = {
  id: 'resp_1',
  object: 'response.compaction',
  output: [],
  usage: { input_tokens: 7, output_tokens: 5 },
};
suite.beforeEach(() => upstream.behave({ kind: 'json', body: compacted }));

interface Asking {
  readonly body?: object;
  readonly headers?: Record<string, string>;
}

/** The status and the code of what comes, and what reached the provider. */
async function ask(path: string, model: string, { body = {}, headers = {} }: Asking = {}) {
  const before = upstream.ledger.length;
  const answer = await gateway.fetch(path, { method: 'POST', headers, body: { model, input: 'Bluebird', ...body } });
  const said = (await answer.json()) as { error?: { code: string; message: string } };
  return { status: answer.status, code: said.error?.code, said, sent: upstream.ledger[before] };
}

const paths = ['/v1/responses/compact', '/v1/responses/input_tokens'];

await test('what only servers of Responses have goes to one, and is 404 for other models', async (t) => {
  for (const path of paths) {
    const passed = await ask(path, 'native/m');
    t.same([passed.status, passed.said], [200, compacted], path);
    t.equal(passed.sent?.target, path);
    t.equal(passed.sent?.header('authorization'), `Bearer ${providerKey}`);
    t.same(JSON.parse(String(passed.sent?.body)), { model: 'm', input: 'Bluebird' });
    t.equal((await ask(path, 'both')).sent?.target, path, 'of an alias, the target that has it');
    const none = await ask(path, 'chat/m');
    t.match(none, { status: 404, code: 'endpoint_not_supported', sent: undefined });
    t.match(none.said.error?.message, path);
  }
});

await test('they are calls of a model like others: keys, guardrails, owners and limits hold', async (t) => {
  for (const path of paths) {
    const bearer = { authorization: `Bearer ${secret}` };
    t.match(await ask(path, 'native/other', { headers: bearer }), { status: 403, code: 'model_access_denied' }, path);
    const guarded = await ask(path, 'native/m', { headers: { 'x-gateway-user-path': '/guarded' } });
    t.notMatch(String(guarded.sent?.body), 'Bluebird');
    const foreign = await ask(path, 'native/m', { headers: bearer, body: { previous_response_id: 'resp_of_others' } });
    t.match(foreign, { status: 404, code: 'response_not_found', sent: undefined });
  }
  const once = { headers: { 'x-gateway-user-path': '/once' } };
  t.equal((await ask('/v1/responses/input_tokens', 'native/m', once)).status, 200);
  t.equal((await ask('/v1/responses/compact', 'native/m', once)).status, 200, 'counting counts under no rule');
  t.match(await ask('/v1/responses/compact', 'native/m', once), { status: 429, code: 'rate_limit_exceeded' });
});

await test('a WebSocket where there is none is answered 426, at which clients go on over HTTP', async (t) => {
  const upgrade = [
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${'a'.repeat(22)}==`,
  ];
  const asked = async (path: string, ...lines: string[]) => {
    const { responses } = await rawRequest(gateway.port, head(`GET ${path} HTTP/1.1`, host, ...lines));
    const [answer] = responses;
    const { error } = (answer?.json() ?? {}) as { error?: { code: string; type: string } };
    return [answer?.status, error?.code, answer?.header('upgrade')];
  };
  for (const path of ['/v1/responses', '/v1/chat/completions', '/v1/responses/resp_1/cancel'])
    t.same(await asked(path, authorization, ...upgrade), [426, 'upgrade_not_supported', 'HTTP/1.1'], path);
  t.same(await asked('/v1/responses', ...upgrade), [401, 'invalid_api_key', undefined], 'a stranger learns nothing');
  t.same(await asked('/v1/nothing', authorization, ...upgrade), [404, 'route_not_found', undefined]);
  t.same(
    await asked('/v1/responses', authorization),
    [405, 'method_not_allowed', undefined],
    'no WebSocket is asked for',
  );
});
