// A gateway without a door, that asks models itself: real sockets, rules, records and metrics; two providers of OpenAI and one of Anthropic.
import type { Test } from 'tap';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { compileRules } from '../../domain/rules/rule.ts';
import { Budgets } from '../../proxy/budgets/budgets.ts';
import { readCall } from '../../proxy/call/call.ts';
import { CaptureBudget } from '../../proxy/capture/capture-budget.ts';
import type { JsonObject } from '../../proxy/dialects/json/json.ts';
import { Refusal } from '../../proxy/errors.ts';
import type { Outside } from '../../proxy/guardrails/outside.ts';
import type { Exchange } from '../../proxy/http/exchange.ts';
import type { Matches } from '../../proxy/limits/match.ts';
import { createRecords } from '../../proxy/records/records.ts';
import { sessionIdOf } from '../../proxy/records/session-id.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import { askModel } from '../../proxy/trips/question/ask-model.ts';
import { outsideOf } from '../../proxy/trips/question/outside-of.ts';
import type { Question } from '../../proxy/trips/question/question.ts';
import { Hooks } from '../../proxy/upstream/hooks.ts';
import type { Limit } from '../../schemas/types.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { sampleConfig } from './sample-config.ts';
import { exchangeOf, open, partsOf } from './stage-parts.ts';

export interface AuxiliaryStand {
  readonly first: FakeUpstream;
  readonly second: FakeUpstream;
  readonly other: FakeUpstream;
  readonly records: readonly RequestRecord[];
  readonly budgets: Budgets;
  readonly reported: readonly unknown[];
  /** The answer, or the refusal, to a question for `/team`. */
  ask(question?: Partial<Question>): Promise<JsonObject | Refusal>;
  /** What guardrails of a request from `/team` may ask for. */
  outside(exchange: Exchange): Outside;
  /** Slots that are held at the first provider, and requests and tokens that rules have counted. */
  figures(): { readonly slots: number; readonly requests: number; readonly path: number; readonly tokens: number };
  /** Tokens that open questions have set aside at the first provider, and under the rules of the client. */
  reserved(): readonly number[];
  /** How many calls the gateway made itself, by their outcome. */
  outcomes(): Promise<readonly string[]>;
}

/** Longer than any question waits. */
const timeouts = { connect: '5s', first_byte: '5s', stream_idle: '5s', total: '5s', usage_drain: '5s' };

export const clientCall = readCall(Buffer.from('{"model":"pair","messages":[{"role":"user","content":"hello"}]}'));
export const clientSession = sessionIdOf([], clientCall, '/team');

const both: Limit[] = [
  { period: 'concurrent', max_requests: 1, mode: 'enforce' },
  { period: 'day', max_requests: 8, max_tokens: 100_000_000, mode: 'enforce' },
];

/** The alias `pair` leads to `first/m`, then `second/m`; `other/m` is a model of Anthropic. The client calls from `/team`. */
export async function auxiliaryStand(t: Test): Promise<AuxiliaryStand> {
  const start = () => startFakeUpstream({ t, models: ['m'] });
  const [first, second, other] = await Promise.all([start(), start(), start()]);
  const snapshot = compile(
    sampleConfig({
      providers: {
        first: { base_url: first.url, timeouts },
        second: { base_url: second.url, timeouts },
        other: { base_url: other.url, type: 'anthropic' },
      },
      aliases: [{ source: 'pair', strategy: 'failover', targets: [{ model: 'first/m' }, { model: 'second/m' }] }],
    }),
    '',
    open,
  );
  const own = partsOf();
  t.teardown(() => own.pools.closeFree());
  own.targets.keep(snapshot.routes.targets);
  const { limiter } = own;
  const team = { path: '/team', per_child: false, limits: both };
  const providers = [{ name: 'first', limits: both }];
  limiter.reconcile(compileRules({ enabled: true, user_paths: [team], providers, models: [] }));
  const records: RequestRecord[] = [];
  const reported: unknown[] = [];
  const budgets = new Budgets();
  const gateway = {
    ...own,
    budgets,
    accessLog: { trip: () => undefined, other: () => undefined, unread: () => undefined },
    reportFailure: (error: unknown) => void reported.push(error),
    records: createRecords({
      captures: new CaptureBudget(0),
      journal: { append: (line) => void records.push(JSON.parse(line.toString()) as RequestRecord) },
      instance: 'a:1',
      usageEnabled: true,
      spent: () => undefined,
      random: () => 0,
      reportFailure: (error) => void reported.push(error),
    }),
    telemetry: undefined,
    overload: { isOverloaded: () => false },
    hooks: new Hooks(own.pools, own.deadlines),
  };
  const exchange = exchangeOf({ 'x-request-id': 'req-of-client' });
  const principal = {
    kind: 'managed_key',
    keyId: 'k1',
    userPath: '/team',
    shownPath: '/team',
    allowedModels: undefined,
  } as const;
  const report = (of: Matches) => limiter.report(of, Math.floor(own.nowMs()));
  return {
    first,
    second,
    other,
    get records() {
      gateway.records.flush();
      return records;
    },
    budgets,
    reported,
    ask(question) {
      const body = { model: 'pair', messages: [{ role: 'user', content: 'is it so?' }] };
      const asked: Question = {
        purpose: 'guardrails',
        name: 'judge',
        operation: 'chat',
        body,
        timeoutMs: 2_000,
        ...question,
      };
      return askModel(asked, { exchange, principal, snapshot, call: clientCall }, gateway).catch((error: unknown) => {
        if (error instanceof Refusal) return error;
        throw error;
      });
    },
    outside: (asking) => outsideOf({ exchange: asking, principal, snapshot, call: clientCall }, gateway),
    reserved: () =>
      [limiter.forTarget('first', 'm'), limiter.forUserPath('/team')].map((of) => report(of)[1]?.tokensReserved ?? -1),
    figures() {
      const [slots, window] = report(limiter.forTarget('first', 'm'));
      const [, path] = report(limiter.forUserPath('/team'));
      return {
        slots: slots?.inFlight ?? 0,
        requests: window?.requestsUsed ?? 0,
        path: path?.requestsUsed ?? 0,
        tokens: path?.tokensUsed ?? 0,
      };
    },
    async outcomes() {
      const text = await own.metrics.text();
      const lines = text.matchAll(/^gateway_auxiliary_calls_total\{purpose="(\w+)",outcome="(\w+)"\} ([1-9]\d*)$/gm);
      return [...lines].map(([, purpose, outcome, count]) => `${purpose} ${outcome} ${count}`);
    },
  };
}
