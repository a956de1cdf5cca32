// Records the cost of a batch: its provider reports it at the end, so it is recorded at the first read.

import type { Price } from '../../../domain/prices/price.ts';
import type { Cost } from '../../../domain/records/usage.ts';
import type { Budgets } from '../../budgets/budgets.ts';
import type { BatchKind, KeptHomes } from '../../kept/objects/kept-homes.ts';
import { ownerOf } from '../../kept/owner.ts';
import type { Records } from '../../records/records.ts';
import { findTarget } from '../../snapshot/find-target.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { costOfUsage } from '../../tokens/attempt-usage.ts';
import type { ModelUsage } from '../../tokens/model-usage.ts';
import { type LateCall, recordLate } from './record-late.ts';

/** A batch whose end was read. */
export interface ReadBatch extends Omit<LateCall, 'model' | 'usage'> {
  readonly kind: BatchKind;
  /** As the provider tells it, by the names that models have there. */
  readonly used: readonly ModelUsage[];
}

interface ChargeParts {
  readonly budgets: Budgets;
  /** The snapshot in force; a request asks once. */
  readonly current: () => Snapshot;
  /** Which providers keep the files and batches of callers. */
  readonly homes: KeptHomes;
  /** Monotonic milliseconds, anchored to wall time at start. */
  readonly nowMs: () => number;
  /** Takes the records of audit and usage. */
  readonly records: Records;
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
}

/** Of the prices of a model, where its own say nothing: all providers of batches take half. */
const usualShare = 0.5;

/** Once for each batch, whichever proxy reads its end. No rule counts its tokens: it is one request. Never rejects. */
export async function chargeBatch(batch: ReadBatch, parts: ChargeParts): Promise<void> {
  const { id, kind, used, provider, exchange, principal } = batch;
  if (used.length === 0) return;
  try {
    const begun = await parts.homes.finish(kind, id, ownerOf(principal));
    if (begun === undefined) return;
    const snapshot = parts.current();
    const upstream = snapshot.upstreams.find(({ name }) => name === provider);
    for (const each of used) {
      const model = askedFor(each.model, begun.models);
      const price = upstream && findTarget(upstream, model, snapshot)?.price;
      recordLate({ ...batch, model, usage: { ...each.usage, cost: costOfBatch(each, price) } }, parts);
    }
  } catch (error) {
    parts.reportFailure(error, exchange.id);
  }
}

/** A provider tells a dated name of the model that was asked for. */
function askedFor(told: string, asked: readonly string[]): string {
  if (asked.length === 1) return asked[0] as string;
  const known = asked.filter((name) => told === name || told.startsWith(`${name}-`) || told.startsWith(`${name}@`));
  return known.toSorted((one, other) => other.length - one.length)[0] ?? told;
}

/** Of many requests together: none of them is known to be a long one, and each has its fee. */
function costOfBatch({ usage, requests }: ModelUsage, price: Price | undefined): Cost | null {
  const { batchShare = usualShare, perRequest } = price ?? {};
  const fee = perRequest === undefined ? undefined : requests * perRequest;
  const cost = costOfUsage(usage, price && { ...price, longContext: undefined, perRequest: fee });
  if (cost === null) return null;
  const input = Math.round(cost.input * batchShare);
  const output = Math.round(cost.output * batchShare);
  return { input, output, total: input + output };
}
