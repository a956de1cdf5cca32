// The metrics of the state of targets: read at a scrape.
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import type { Exposition } from '../tallies/exposition.ts';
import type { BreakerState } from '../targets/breaker.ts';
import type { KnownTarget, TargetStates } from '../targets/target-states.ts';

/** Up to so many targets, all are shown from the start, so that `increase()` sees the first opening. */
const mostShownAtStart = 100;

const stateNumbers: Readonly<Record<BreakerState, number>> = { closed: 0, half_open: 1, open: 2 };
const breakerStates = Object.keys(stateNumbers) as BreakerState[];

/** Samples of all targets when there are few, else of those that were asked. `nowMs`: Unix milliseconds. */
export async function writeTargets(
  to: Exposition,
  states: Pick<TargetStates, 'known' | 'drains'>,
  nowMs: number,
): Promise<void> {
  const known = [...states.known()];
  const shown = known.length <= mostShownAtStart ? known : known.filter(({ state }) => state.wasAsked);
  await writeBreakers(to, shown, nowMs);
  const { targetDrained, targetResting, targetFirstByte } = proxyMetrics;
  to.metric(targetResting);
  for (const { provider, model, state } of shown) {
    to.sample(targetResting.name, { provider, model }, nowMs < state.restsUntilMs ? 1 : 0);
    await to.pause();
  }
  to.metric(targetDrained);
  for (const { provider, model = '' } of states.drains) {
    to.sample(targetDrained.name, { provider, model }, 1);
    await to.pause();
  }
  await writeQuotas(to, shown, nowMs);
  to.metric(targetFirstByte);
  for (const { provider, model, state } of shown) {
    const { latency } = state;
    const [mean, p95, p95Stream] = [latency.mean(), latency.p95(false), latency.p95(true)];
    if (mean !== undefined) to.sample(targetFirstByte.name, { provider, model, statistic: 'mean' }, mean / 1000);
    if (p95 !== undefined) to.sample(targetFirstByte.name, { provider, model, statistic: 'p95' }, p95 / 1000);
    if (p95Stream !== undefined)
      to.sample(targetFirstByte.name, { provider, model, statistic: 'p95_stream' }, p95Stream / 1000);
    await to.pause(3);
  }
}

async function writeBreakers(to: Exposition, shown: readonly KnownTarget[], nowMs: number): Promise<void> {
  const { targetBreaker, targetBreakerTransitions } = proxyMetrics;
  to.metric(targetBreaker);
  for (const { provider, model, state } of shown) {
    to.sample(targetBreaker.name, { provider, model }, stateNumbers[state.breaker.state(nowMs)]);
    await to.pause();
  }
  to.metric(targetBreakerTransitions);
  for (const { provider, model, state } of shown) {
    for (const into of breakerStates)
      to.sample(targetBreakerTransitions.name, { provider, model, to: into }, state.breaker.transitions[into]);
    await to.pause(breakerStates.length);
  }
}

/** Writes the learned quotas; a target whose provider reports no limits has no samples. */
async function writeQuotas(to: Exposition, shown: readonly KnownTarget[], nowMs: number): Promise<void> {
  const { targetQuotaRemaining, targetQuotaUsed } = proxyMetrics;
  to.metric(targetQuotaRemaining);
  const learned: KnownTarget[] = [];
  for (const target of shown) {
    const { provider, model, state } = target;
    const remaining = [...state.quota.remaining(nowMs)];
    if (remaining.length > 0) learned.push(target);
    for (const [dimension, count] of remaining)
      to.sample(targetQuotaRemaining.name, { provider, model, dimension }, count);
    await to.pause(1 + remaining.length);
  }
  to.metric(targetQuotaUsed);
  for (const { provider, model, state } of learned) {
    to.sample(targetQuotaUsed.name, { provider, model }, state.quota.pressure(nowMs));
    await to.pause();
  }
}
