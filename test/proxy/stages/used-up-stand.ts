// Two targets, rules that are used up for a while, and a clock that stands where a request puts it.
import type { Test } from 'tap';
import { compileRules } from '../../../domain/rules/rule.ts';
import { drainKey, type TargetDrain, TargetDrains } from '../../../domain/targets/target-drain.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import { readCall } from '../../../proxy/call/call.ts';
import type { Refusal } from '../../../proxy/errors.ts';
import { openaiOnly } from '../../../proxy/limits/headers.ts';
import { createBalance } from '../../../proxy/routing/balance/balance.ts';
import { limitRefusal } from '../../../proxy/routing/limit-refusal.ts';
import { compile } from '../../../proxy/snapshot/compile.ts';
import type { Target } from '../../../proxy/snapshot/snapshot.ts';
import { admit } from '../../../proxy/stages/admit.ts';
import { resolve } from '../../../proxy/stages/resolve.ts';
import type { TargetState } from '../../../proxy/targets/target-state.ts';
import type { Alias, Limit } from '../../../schemas/types.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { sampleConfig } from '../sample-config.ts';
import { attempted, exchangeOf, named, open, partsOf, refusedBy, routedOf } from '../stage-parts.ts';

export const startMs = Date.UTC(2026, 0, 1);
/** One request of a minute, used now, is free again so many seconds later. */
const minuteSeconds = 61;

type Party = 'first' | 'second' | 'consumer';

export interface UsedUp {
  /** The rule of each provider, and of the consumer. */
  readonly limits?: Partial<Record<Party, Omit<Limit, 'mode'>>>;
  /** One request was counted under it that leaves so many seconds after the start. */
  readonly waits?: Partial<Record<Party, number>>;
  /** So many seconds from the start on, the first provider answers 429 and how long that will be so. */
  readonly saysSeconds?: number;
  readonly retry?: Alias['retry'];
}

export interface UsedUpStand {
  /** A request for a model so many milliseconds after the start: the provider that serves it, or the refusal. */
  readonly ask: (ms: number, model?: string) => Promise<string | Refusal>;
  /** Calls that the two providers got. */
  readonly calls: () => readonly number[];
  readonly stateOf: (provider: string) => TargetState;
  readonly targetOf: (provider: string) => Target;
  /** Takes out these providers, or models of them, until so many seconds after the start, and gives back all others. */
  readonly drain: (seconds: Readonly<Record<string, number>>) => void;
  /** Requests that the consumer's rule has counted. */
  readonly counted: () => number | undefined;
}

/** The alias `pair` leads to `first/m`, then to `second/m`; the consumer is /team. */
export async function usedUpStand(t: Test, { limits = {}, waits = {}, ...said }: UsedUp): Promise<UsedUpStand> {
  let nowMs = startMs;
  const models = ['m'];
  const [first, second] = await Promise.all([startFakeUpstream({ t, models }), startFakeUpstream({ t, models })]);
  await first.behave(() => {
    const seconds = Math.ceil((said.saysSeconds ?? 0) - (nowMs - startMs) / 1000);
    if (seconds <= 0) return undefined;
    const body = { error: { message: 'slow down', type: 'requests', code: 'too_many' } };
    // Else the same target would be asked again after a real pause.
    const noRetry = ['x-should-retry', 'false'] as const;
    return { kind: 'json', status: 429, body, headers: [['retry-after', String(seconds)], noRetry] };
  });
  const targets = [{ model: 'first/m' }, { model: 'second/m' }];
  const retry = said.retry === undefined ? {} : { retry: said.retry };
  const snapshot = compile(
    sampleConfig({
      providers: { first: { base_url: first.url }, second: { base_url: second.url } },
      aliases: [{ source: 'pair', strategy: 'failover', targets, ...retry }],
    }),
    '',
    open,
  );
  const own = partsOf();
  t.teardown(() => own.pools.closeFree());
  own.targets.keep(snapshot.routes.targets);
  const parts = { ...own, balance: createBalance(own.targets), nowMs: () => nowMs };
  const { limiter } = parts;
  limiter.reconcile(rulesOf(limits));
  const matches = {
    first: limiter.forTarget('first', 'm'),
    second: limiter.forTarget('second', 'm'),
    consumer: limiter.forUserPath('/team'),
  };
  // The clock of a limiter never goes back.
  for (const [party, seconds] of Object.entries(waits).sort(([, a], [, b]) => a - b)) {
    limiter.admit(matches[party as Party], startMs + (seconds - minuteSeconds) * 1000);
  }
  const call = readCall(Buffer.from('{"model":"pair","messages":[]}'));
  const targetOf = (provider: string): Target => {
    const [target] = snapshot.routes.get(`${provider}/m`)?.targets ?? [];
    if (target === undefined) throw new Error(`there is no provider ${provider}`);
    return target;
  };
  return {
    async ask(ms, model = 'pair') {
      nowMs = startMs + ms;
      const consumer = await admit(parts.limiter.forUserPath('/team'), openaiOnly, parts);
      if (consumer.lease === undefined) return limitRefusal(consumer.rejection, openaiOnly, parts.metrics);
      const routed = routedOf(call, resolve(named(model), snapshot, undefined), consumer);
      let served = '';
      const answered = async (): Promise<void> => {
        const accepted = await attempted(routed, [], exchangeOf({}), parts);
        served = accepted.target.upstream.name;
        accepted.allowance.lease.release();
      };
      const refused = await refusedBy(answered).catch(() => undefined);
      consumer.lease.release();
      return refused ?? served;
    },
    calls: () => [first, second].map(({ ledger }) => ledger.length),
    stateOf: (provider) => own.targets.of(targetOf(provider)),
    targetOf,
    drain: (seconds) => own.targets.keep(snapshot.routes.targets, new TargetDrains(drainsOf(seconds))),
    counted: () => limiter.report(matches.consumer, nowMs)[0]?.requestsUsed,
  };
}

function rulesOf({ consumer, ...providers }: NonNullable<UsedUp['limits']>): ReturnType<typeof compileRules> {
  const enforced = (limit: Omit<Limit, 'mode'>): Limit[] => [{ ...limit, mode: 'enforce' }];
  return compileRules({
    enabled: true,
    user_paths: consumer === undefined ? [] : [{ path: '/team', per_child: false, limits: enforced(consumer) }],
    providers: Object.entries(providers).map(([name, limit]) => ({ name, limits: enforced(limit) })),
    models: [],
  });
}

function drainsOf(seconds: Readonly<Record<string, number>>): TargetDrain[] {
  const written = { createdAt: timestamp(startMs), updatedAt: timestamp(startMs), updatedBy: 'master_key' };
  return Object.entries(seconds).map(([name, ends]) => {
    const [provider = '', model] = name.split('/');
    const target = { provider, ...(model === undefined ? {} : { model }) };
    const expiresAt = timestamp(startMs + ends * 1000);
    return { key: drainKey(target), ...target, reason: 'maintenance', expiresAt, ...written };
  });
}
