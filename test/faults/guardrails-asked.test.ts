// A service or a model that guardrails ask, and that hangs, dies or lies: what clients get is what is configured, in time, and nothing stays taken.
import { t as suite, test } from 'tap';
import { type Behaviour, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, startGateway, untilIdle } from '../support/gateway.ts';
import { journaled, recordOf } from '../support/journal.ts';
import { reasonsOf } from '../support/operator.ts';
import { slotsAndWindow } from '../support/rule-figures.ts';
import { waitFor } from '../support/wait-for.ts';

/** Longest that a question may take, and an answer to a client when one hangs. Milliseconds. */
const timeoutMs = 100;
const latestMs = 3_000;
const words = 'one two three four five six seven eight nine ten eleven twelve';

interface Stand {
  readonly gateway: Gateway;
  readonly service: FakeUpstream;
  readonly provider: FakeUpstream;
}

/** Each model has one guardrail: it asks the service (`hook`) or the judge (`llm`) about one phase. */
async function start(): Promise<Stand> {
  const [service, provider] = await Promise.all([
    startFakeUpstream({ t: suite }),
    startFakeUpstream({ t: suite, models: ['m'] }),
  ]);
  const guardrails: object[] = [];
  const aliases: object[] = [];
  for (const phase of ['input', 'output'] as const) {
    for (const mode of ['enforce', 'shadow'] as const) {
      for (const fail of ['open', 'closed'] as const) {
        for (const kind of ['webhook', 'llm'] as const) {
          const name = `${phase}-${mode}-${fail}-${kind}`;
          const asked = { timeout_ms: timeoutMs, fail, window: 40 };
          const webhook = { ...asked, url: `${service.url}/check` };
          const llm = { ...asked, model: 'judge/j', prompt: 'No insults.' };
          const block = kind === 'webhook' ? { webhook } : { llm };
          guardrails.push({ name, models: [name], on: [phase], mode, ...block });
          aliases.push({ source: name, target: 'fake/m' });
        }
      }
    }
  }
  const gateway = await startGateway(suite, {
    config: {
      providers: {
        fake: { type: 'openai', base_url: provider.url, models: ['m'] },
        judge: { type: 'openai', base_url: service.url, models: ['j'], circuit_breaker: false },
      },
      aliases,
      guardrails,
      rate_limits: {
        user_paths: [{ path: '/', limits: slotsAndWindow(100) }],
        providers: ['fake', 'judge'].map((name) => ({ name, limits: slotsAndWindow(100) })),
      },
    },
  });
  await provider.behave({ kind: 'openai', content: words });
  return { gateway, service, provider };
}

/** One for all: no fault may leave anything behind. */
const { gateway, service, provider } = await start();

const faults = {
  hang: { kind: 'hang' },
  reset: { kind: 'reset' },
  'cut in the body': { kind: 'short-body' },
  'lie in JSON': { kind: 'json', body: '{"verdict":"yes"}' },
  'no JSON': { kind: 'html' },
  'status 500': { kind: 'error', status: 500 },
} as const satisfies Record<string, Behaviour>;

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly id: string;
}

async function ask(model: string, stream: boolean): Promise<Answered> {
  const body = { model, stream, messages: [{ role: 'user', content: 'hello' }] };
  const signal = AbortSignal.timeout(latestMs);
  const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', body, signal });
  const id = response.headers.get('x-request-id') ?? '';
  return { status: response.status, text: await response.text(), id };
}

/** The words of an answer, whether it streams. */
function wordsOf(text: string): string {
  const events = text.startsWith('{') ? [text] : [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => json);
  type Choices = { choices?: { message?: { content?: string }; delta?: { content?: string } }[] };
  const choices = events.flatMap((json) => (JSON.parse(json) as Choices).choices ?? []);
  return choices.map(({ message, delta }) => message?.content ?? delta?.content ?? '').join('');
}

for (const kind of ['webhook', 'llm'] as const) {
  await test(`no fault of a ${kind} holds a request up, or keeps a slot`, async (t) => {
    for (const [fault, behaviour] of Object.entries(faults)) {
      await service.behave(behaviour);
      for (const stream of [false, true]) {
        const asking = ['input', 'output'].flatMap((phase) =>
          ['enforce-closed', 'enforce-open', 'shadow-closed', 'shadow-open'].map(async (how) => {
            const name = `${fault}, ${phase} ${how}${stream ? ', streamed' : ''}`;
            const model = `${phase}-${how}-${kind}`;
            const { status, text } = await ask(model, stream);
            if (how !== 'enforce-closed') {
              t.equal(status, 200, name);
              t.equal(wordsOf(text), words, name);
              return;
            }
            // Of a stream the head may have gone out before there was a word to judge.
            t.equal(status, stream && phase === 'output' ? 200 : 503, name);
            t.match(text, '"guardrail_unavailable"', name);
            t.match(text, model, name);
            t.notMatch(text, 'one two', name);
          }),
        );
        await Promise.all(asking);
      }
    }
    await untilIdle(gateway);
    t.match(await gateway.metrics(), /^gateway_rate_limit_in_flight\{/m);
    t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 0);
  });
}

await test('a client that leaves while a service is asked leaves nothing behind', async (t) => {
  await service.behave({ kind: 'hang' });
  const calls = provider.ledger.length;
  for (const kind of ['webhook', 'llm']) {
    const before = service.ledger.length;
    const leaving = new AbortController();
    const body = { model: `input-enforce-closed-${kind}`, messages: [{ role: 'user', content: 'hello' }] };
    const { signal } = leaving;
    const asking = gateway.fetch('/v1/chat/completions', { method: 'POST', body, signal }).catch(() => undefined);
    await service.waitFor((ledger) => ledger[before]?.bodyComplete);
    leaving.abort();
    await asking;
    await service.waitFor((ledger) => ledger[before]?.clientClosedAtMs);
  }
  await untilIdle(gateway);
  t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 0);
  t.equal(provider.ledger.length, calls);
});

await test('a verdict that did not come is recorded and counted with its reason', async (t) => {
  for (const [kind, behaviour, reason] of [
    ['webhook', { kind: 'hang' }, 'timeout'],
    ['llm', { kind: 'error', status: 400 }, 'model'],
  ] as const) {
    await service.behave(behaviour);
    for (const fail of ['open', 'closed']) {
      const name = `input-enforce-${fail}-${kind}`;
      const labels = { guardrail: name, phase: 'input', outcome: 'failed' };
      const before = (await gateway.metric('gateway_guardrail_verdicts_total', labels)) ?? 0;
      const { id } = await ask(name, false);
      // The call of a judge has the same id.
      const { data } = await waitFor(`the record of ${name}`, () =>
        journaled(gateway).find(({ request_id, user_path }) => request_id === id && user_path === '/'),
      );
      t.match(data?.guardrails, [{ name, kind, phase: 'input', outcome: 'failed', reason, mode: 'enforce' }]);
      t.equal(data?.error_code, fail === 'open' ? undefined : 'guardrail_unavailable');
      t.equal(await gateway.metric('gateway_guardrail_verdicts_total', labels), before + 1);
    }
  }
});

await test('verdicts count in every form of answer, and the call of a judge is recorded apart', async (t) => {
  const verdict = '{"verdict":"block","reason":"insult"}';
  const answers: Record<string, Behaviour> = {
    webhook: { kind: 'json', body: verdict },
    llm: { kind: 'openai', content: verdict },
  };
  for (const [kind, behaviour] of Object.entries(answers)) {
    await service.behave(behaviour);
    for (const stream of [false, true]) {
      const calls = provider.ledger.length;
      const refused = await ask(`input-enforce-open-${kind}`, stream);
      t.equal(refused.status, 400, kind);
      t.match(refused.text, '"guardrail_blocked"');
      t.equal(provider.ledger.length, calls, 'no provider is asked');
      const cut = await ask(`output-enforce-open-${kind}`, stream);
      t.match(cut.text, '"guardrail_blocked"');
      t.notMatch(cut.text, 'one two');
      t.equal(wordsOf((await ask(`output-shadow-closed-${kind}`, stream)).text), words, `${kind} in shadow`);
    }
  }
  const { id } = await ask('input-shadow-open-llm', false);
  const record = await recordOf(gateway, id);
  t.equal(record.user_path, '/guardrails/input-shadow-open-llm', 'the judge is asked first, so its record comes first');
});

await test('a guardrail whose model is unknown is named by readiness and metric, until there is one', async (t) => {
  const isUnusable = async (): Promise<boolean> => (await reasonsOf(gateway)).includes('guardrail_unusable');
  const metric = () => gateway.metric('gateway_guardrails_unusable', { guardrail: 'typo' });
  t.same([await isUnusable(), await metric()], [false, undefined]);
  const typo = { name: 'typo', models: ['nobody-asks'], llm: { model: 'jugde/j', prompt: 'No insults.' } };
  await gateway.applyConfig({ 'typo.yaml': { guardrails: [typo] } });
  t.same([await isUnusable(), await metric()], [true, 1]);
  await gateway.applyConfig({
    'typo.yaml': { aliases: [{ source: 'jugde/j', target: 'judge/j' }], guardrails: [typo] },
  });
  t.same([await isUnusable(), await metric()], [false, undefined]);
});
