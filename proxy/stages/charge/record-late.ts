// The record of a call whose cost became known later, by another request.

import type { Budgets } from '../../budgets/budgets.ts';
import { pathOf } from '../../call/head.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { RecordedCaller, RecordedTrip } from '../../records/record-of-trip.ts';
import type { Records } from '../../records/records.ts';
import { findTarget } from '../../snapshot/find-target.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import type { TokenUsage } from '../../tokens/token-usage.ts';
import { chargeBudgets } from './charge-budgets.ts';

export interface LateCall {
  /** The provider's id of what was made. */
  readonly id: string;
  /** The name of the provider. */
  readonly provider: string;
  /** Its id at the provider. */
  readonly model: string;
  readonly usage: TokenUsage;
  /** Of the answer that tells it. */
  readonly status: number;
  /** Of the endpoint that it was read at, as metrics say it. */
  readonly path: string;
  readonly exchange: Exchange;
  readonly principal: RecordedCaller;
}

/** False: the provider is gone from the configuration, and there is no record. */
export function recordLate(
  { id, provider, model, usage, status, path, exchange, principal }: LateCall,
  {
    budgets,
    current,
    nowMs,
    records,
  }: {
    readonly budgets: Budgets;
    readonly current: () => Snapshot;
    readonly nowMs: () => number;
    readonly records: Records;
  },
): boolean {
  const snapshot = current();
  const upstream = snapshot.upstreams.find(({ name }) => name === provider);
  if (upstream === undefined) return false;
  const now = nowMs();
  const { startedAtMs, request } = exchange;
  const target = findTarget(upstream, model, snapshot) ?? { upstream, model };
  const times = { startedAtMs, endedAtMs: now };
  const trip: RecordedTrip = {
    path,
    asked: { method: request.method ?? '', path: pathOf(request.url ?? '') },
    exchange,
    snapshot,
    principal,
    call: { model: `${upstream.name}/${model}`, stream: false },
    route: { targets: [target], isAlias: false },
    countsAs: 'nothing',
    failed: [],
    accepted: { target, ...times, refused: undefined, answer: { status }, upstreamId: id },
    ending: { refused: undefined },
  };
  const end = { status, usage, nowMs: now };
  chargeBudgets(trip, end, budgets);
  records.trip(trip, end);
  return true;
}
