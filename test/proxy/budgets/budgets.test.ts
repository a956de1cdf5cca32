// A proxy that was told that budgets are used up: what it refuses, what it still serves, and that nothing else is taken.
import { t as suite, test } from 'tap';
import type { BudgetVerdict } from '../../../domain/budgets/verdicts.ts';
import { authKeyBody, authKeyKind } from '../../../domain/keys/auth-key.ts';
import { newSecret } from '../../../domain/keys/secret.ts';
import { publishVerdicts } from '../../../store/state/budget-verdicts.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { startGateway } from '../../support/gateway.ts';
import { sampleKey } from '../../support/managed-state.ts';
import { openSealedStore } from '../../support/sealed.ts';
import { commitAnyhow } from '../../support/store-calls.ts';
import { waitFor } from '../../support/wait-for.ts';

const upstream = await startFakeUpstream(suite);
const dialects = ['chat', 'audio', 'embeddings', 'realtime'];
const provider = { type: 'openai', base_url: upstream.url, models: ['m1'], dialects };
const gateway = await startGateway(suite, {
  env: { GATEWAY_METRICS_MAX_AGE_MS: '0' },
  config: {
    server: { access_log: 'all' },
    providers: { fake: provider },
    rate_limits: { user_paths: [{ path: '/', limits: [{ period: 'minute', max_requests: 1_000 }] }] },
  },
});
const store = openSealedStore({ directory: gateway.dataDir });
suite.teardown(() => store.close());
const keyValue = newSecret();
const key = sampleKey(keyValue, { id: 'key-batch', name: 'batch', userPath: '/other', labels: ['batch'] });
await commitAnyhow(store, {
  expected: new Map(),
  changes: [{ kind: authKeyKind, id: key.id, body: authKeyBody(key) }],
});

function verdict(effectiveSubject: string, more: Partial<BudgetVerdict> = {}): BudgetVerdict {
  const startMs = Date.now() - 1_000;
  return {
    id: 'abcdefgh',
    scope: 'user_path',
    subject: effectiveSubject,
    effectiveSubject,
    perChild: false,
    periodSeconds: 86_400,
    amount: 1_000_000_000,
    spent: 1_000_000_000,
    startMs,
    endMs: startMs + 600_000,
    mode: 'enforce',
    ...more,
  };
}

let count = 0;
/** Tells the proxy, and waits until it knows. */
async function tell(...verdicts: BudgetVerdict[]): Promise<void> {
  count += 1;
  const told = [...verdicts, ...Array.from({ length: count * 5 }, (_, index) => verdict(`/nobody/${index}`))];
  const now = Date.now();
  await publishVerdicts(store, { revision: String(count), computedAtMs: now, verdicts: told, unlisted: 0 }, now);
  await waitFor('the verdicts', async () => (await gateway.metric('gateway_budget_verdicts')) === told.length);
}

const chat = { model: 'm1', messages: [{ role: 'user', content: 'hi' }] };

async function ask(path: string, body: object | string | undefined, headers: Record<string, string>) {
  const answer = await gateway.fetch(path, {
    method: body === undefined ? 'GET' : 'POST',
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.text();
  const { error } = (answer.status < 400 ? {} : JSON.parse(text)) as { error?: { code: string; message: string } };
  return { said: `${answer.status} ${error?.code ?? 'ok'}`, message: error?.message, answer };
}

const as = (userPath: string): Record<string, string> => ({ 'x-gateway-user-path': userPath });

await test('whatever spends is refused below a path whose budget is used up, and nothing else', async (t) => {
  await tell(verdict('/team'), verdict('batch', { scope: 'label', id: 'labelled' }));
  const counted: [path: string, body: object | string][] = [
    ['/v1/chat/completions', chat],
    ['/v1/embeddings', { model: 'm1', input: 'x' }],
    ['/v1/messages', { ...chat, max_tokens: 5 }],
    ['/v1/audio/speech', { model: 'm1', input: 'x', voice: 'v' }],
    ['/p/fake/v1/chat/completions', chat],
    ['/v1/batches', { input_file_id: 'none', endpoint: '/v1/chat/completions', completion_window: '24h' }],
    ['/v1/realtime/client_secrets', { session: { type: 'realtime', model: 'm1' } }],
  ];
  const before = upstream.ledger.length;
  for (const [path, body] of counted) {
    const { said, message, answer } = await ask(path, body, as('/team/app'));
    t.equal(said, '429 budget_exceeded', path);
    t.match(message, /^Budget exceeded for \/team: 1\.000000 of 1\.000000 US dollars are spent \(daily\)\./);
    const wait = Number(answer.headers.get('retry-after'));
    t.ok(wait > 500 && wait <= 600, `${path} ${wait}`);
    t.equal(answer.headers.get('x-gateway-rule'), 'abcdefgh');
    t.equal(answer.headers.get('x-ratelimit-limit-requests'), null);
  }
  t.equal(upstream.ledger.length, before, 'nothing reaches a provider');
  for (const path of ['/v1/models', '/v1/usage', '/v1/files']) {
    t.equal((await ask(path, undefined, as('/team/app'))).said, '200 ok', `reading is free: ${path}`);
  }
  const usage = (await (await gateway.fetch('/v1/usage', { headers: as('/team/app') })).json()) as {
    usage: null;
    budgets: object[];
    rate_limits: { requests_used: number }[];
  };
  t.match(usage.budgets, [
    { subject: '/team', user_path: '/team', period_label: 'daily', amount: 1, spent: 1, remaining: 0, exceeded: true },
  ]);
  t.equal(usage.usage, null, 'it is not known here');
  t.equal(usage.rate_limits[0]?.requests_used, 0, 'a refused request takes nothing of a rate limit');
  t.equal((await ask('/v1/chat/completions', chat, as('/team-alpha'))).said, '200 ok');
  const labelled = { authorization: `Bearer ${keyValue}` };
  await waitFor('the key', async () => (await ask('/v1/models', undefined, labelled)).said === '200 ok');
  t.match((await ask('/v1/chat/completions', chat, labelled)).message, /^Budget exceeded for label batch: /);
  t.equal(
    await gateway.metric('gateway_budget_decisions_total', { budget: 'abcdefgh', outcome: 'reject' }),
    counted.length,
  );
  const line = await waitFor('a line', () => gateway.process.requests().find(({ rule }) => rule === 'abcdefgh'));
  t.match(line, { status: 429, rule_id: 'abcdefgh', rule_scope: 'user_path' });
});

await test('a budget in shadow, one whose window ended, and one that is told no more refuse nothing', async (t) => {
  await tell(verdict('/team', { mode: 'shadow', id: 'shadowed' }), verdict('/short', { endMs: Date.now() + 900 }));
  t.equal((await ask('/v1/chat/completions', chat, as('/team'))).said, '200 ok');
  t.equal(await gateway.metric('gateway_budget_decisions_total', { budget: 'shadowed', outcome: 'shadow_reject' }), 1);
  await waitFor('the end', async () => (await ask('/v1/chat/completions', chat, as('/short'))).said === '200 ok');
  await tell(verdict('/other'));
  t.equal((await ask('/v1/chat/completions', chat, as('/other'))).said, '429 budget_exceeded');
  await tell();
  t.equal((await ask('/v1/chat/completions', chat, as('/other'))).said, '200 ok');
});

await test('a proxy that starts again refuses at once', async (t) => {
  await tell(verdict('/team'));
  await gateway.restart();
  t.equal((await ask('/v1/chat/completions', chat, as('/team'))).said, '429 budget_exceeded');
});

await test('an explanation says which budget would refuse, and a refused request which one did', async (t) => {
  await tell(verdict('/team'), verdict('/shadowed', { mode: 'shadow', id: 'shadowed' }));
  const explain = async (query: string): Promise<object> =>
    (await (await gateway.fetch(`/admin/explain?model=m1&${query}`)).json()) as object;
  t.match(await explain('user_path=/team/app'), {
    outcome: /^It would be refused with 429 budget_exceeded by the budget "abcdefgh": Budget exceeded for \/team/,
    refusal: { status: 429, code: 'budget_exceeded', rule: 'abcdefgh' },
    budgets: [
      { id: 'abcdefgh', effective_subject: '/team', amount: 1, spent: 1, mode: 'enforce', period_label: 'daily' },
    ],
  });
  t.match(await explain('user_path=/shadowed'), { outcome: /^It would be sent to/, budgets: [{ id: 'shadowed' }] });
  t.match(await explain('user_path=/free'), { outcome: /^It would be sent to/, budgets: [] });
  const { answer } = await ask('/v1/chat/completions', chat, { ...as('/team'), 'x-gateway-explain': '1' });
  const id = answer.headers.get('x-gateway-explain-id') ?? '';
  t.match(await (await gateway.fetch(`/admin/explain/${id}`)).json(), {
    answer: { status: 429, code: 'budget_exceeded', rule: 'abcdefgh' },
    explanation: { refusal: { code: 'budget_exceeded' }, budgets: [{ id: 'abcdefgh' }] },
  });
});
