// X-Gateway-Explain: 1 with the master key: each answer names an explanation of that very request, and what became of it.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { t as suite, test } from 'tap';
import requestSchema from '../../schemas/admin/explained-request.schema.json' with { type: 'json' };
import schema from '../../schemas/admin/explanation.schema.json' with { type: 'json' };
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

const [failing, well] = await Promise.all([startFakeUpstream({ t: suite }), startFakeUpstream({ t: suite })]);
await failing.behave({ kind: 'error', status: 500 });
const provider = (url: string) => ({ type: 'openai', base_url: url, models: ['m'] });
const targets = [{ model: 'failing/m' }, { model: 'well/m' }];
const limits = [{ name: 'once', period: 'minute', max_requests: 1 }];
const config = {
  providers: { failing: provider(failing.url), well: provider(well.url) },
  aliases: [{ source: 'chat', strategy: 'failover', targets }],
  rate_limits: { user_paths: [{ path: '/once', limits }] },
};
const gateway = await shareGateway({ config });
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(schema, 'explanation.schema.json');
const validate = ajv.compile(requestSchema);

interface Explained {
  readonly is_over: boolean;
  readonly request_id: string;
  readonly answer: object;
  readonly attempts: readonly object[];
  readonly explanation?: object;
}

async function call(body: object, headers: Record<string, string> = {}) {
  const whole = { model: 'chat', messages: [{ role: 'user', content: 'a' }], ...body };
  const asked = { 'x-gateway-explain': '1', ...headers };
  const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', headers: asked, body: whole });
  await response.text();
  return { response, id: response.headers.get('x-gateway-explain-id') };
}

async function explained(id: string | null): Promise<Explained> {
  let record: Explained | undefined;
  await waitFor('the request to be over', async () => {
    const response = await gateway.fetch(`/admin/explain/${id}`);
    record = (await response.json()) as Explained;
    return record.is_over;
  });
  if (!validate(record)) throw new Error(JSON.stringify(validate.errors));
  return record;
}

await test('a request that failed over, as JSON and as a stream', async (t) => {
  for (const stream of [false, true]) {
    const { response, id } = await call({ stream });
    t.equal(response.status, 200);
    const record = await explained(id);
    t.equal(record.request_id, response.headers.get('x-request-id'));
    t.match(record.attempts, [
      { target: 'failing/m', outcome: 'failed', status: 500 },
      { target: 'well/m', outcome: 'accepted', status: 200 },
    ]);
    t.match(record, {
      answer: { status: 200 },
      explanation: {
        request: { model: 'chat', stream },
        targets: [{ target: 'failing/m' }, { target: 'well/m' }],
        resolution: { aliases: [{ declared_at: /^gateway\.yaml:\d+$/ }] },
      },
    });
  }
});

await test('the rules are shown as they were before the request, which they admitted', async (t) => {
  const headers = { 'x-gateway-user-path': '/once' };
  const { response, id } = await call({ model: 'well/m' }, headers);
  t.equal(response.status, 200);
  t.match(await explained(id), {
    explanation: { rules: [{ requests_used: 0, requests_remaining: 1 }], outcome: 'It would be sent to well/m.' },
  });
  const refused = await call({ model: 'well/m' }, headers);
  t.equal(refused.response.status, 429);
  t.match(await explained(refused.id), {
    answer: { status: 429, code: 'rate_limit_exceeded', rule: 'once', retry_after_seconds: Number },
    attempts: [],
    explanation: {
      refusal: { status: 429, rule: 'once' },
      rules: [{ requests_used: 1, exhausted: true }],
      as_test: /rule: user_path \/once minute\n +requests: 1\n.*by: once\n/s,
    },
  });
});

await test('a refusal names its explanation too', async (t) => {
  const unknown = await call({ model: 'chta' });
  t.equal(unknown.response.status, 404);
  t.match(await explained(unknown.id), {
    answer: { status: 404, code: 'model_not_found' },
    explanation: { resolution: { kind: 'unknown' }, near_misses: [{ name: 'chat', reason: 'spelling' }] },
  });
  const broken = await call({ model: 7 });
  t.equal(broken.response.status, 400);
  const record = await explained(broken.id);
  t.match(record, { answer: { status: 400, code: 'invalid_model' }, attempts: [] });
  t.notOk('explanation' in record);
});

await test('without the header, and for other keys, there is none', async (t) => {
  for (const headers of [{ 'x-gateway-explain': '0' }, { authorization: 'Bearer sk-none' }])
    t.equal((await call({ model: 'well/m' }, headers)).id, null, JSON.stringify(headers));
  const gone = await gateway.fetch('/admin/explain/00000000-0000-4000-8000-000000000000');
  t.equal(gone.status, 404);
  t.match(await gone.json(), { code: 'explanation_not_found' });
});

await test('an explanation names the outcome of the cache, and no attempt for a kept answer', async (t) => {
  t.notOk('cache' in (await explained((await call({ model: 'well/m' })).id)), 'it is off');
  await gateway.applyConfig({ 'gateway.yaml': { ...config, cache: { enabled: true } } });
  for (const cache of ['miss', 'hit']) {
    const record = await explained((await call({ model: 'well/m' })).id);
    t.match(record, { cache, answer: { status: 200 } });
    t.equal(record.attempts.length, cache === 'hit' ? 0 : 1);
  }
});
