// What a batch has cost: its provider tells it at its end, so it is recorded when that is first read.
import type { Cost } from '../../schemas/records/usage.ts';
import type { Gateway } from '../gateway.ts';
import type { BatchKind } from '../kept-homes.ts';
import { findTarget } from '../snapshot/find-target.ts';
import { costOfUsage } from '../tokens/attempt-usage.ts';
import { sumUsage } from '../tokens/sum-usage.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { type LateCall, recordLate } from './record-late.ts';

/** A batch whose end was read. */
export interface ReadBatch extends Omit<LateCall, 'model' | 'usage'> {
  readonly kind: BatchKind;
  /** As the provider tells it, by the names that models have there. */
  readonly used: readonly { readonly model: string; readonly usage: TokenUsage }[];
}

type Parts = Pick<Gateway, 'current' | 'homes' | 'nowMs' | 'records' | 'reportFailure'>;

/** Of the prices of a model, where its own say nothing: all providers of batches take half. */
const usualShare = 0.5;

/** Once for each batch, whichever proxy reads its end. No rule counts its tokens: it is one request. Never rejects. */
export async function chargeBatch(batch: ReadBatch, parts: Parts): Promise<void> {
  const { id, kind, used, provider, exchange, principal } = batch;
  if (used.length === 0) return;
  try {
    const begun = await parts.homes.finish(kind, id, principal.userPath);
    if (begun === undefined) return;
    const snapshot = parts.current();
    const upstream = snapshot.upstreams.find(({ name }) => name === provider);
    // A provider tells a dated name of the model that was asked for.
    const nameOf = (told: string): string => begun.model ?? told;
    const priced = used.map(({ model, usage }): TokenUsage => {
      const price = upstream && findTarget(upstream, nameOf(model), snapshot)?.price;
      return { ...usage, cost: shareOf(costOfUsage(usage, price), price?.batchShare ?? usualShare) };
    });
    const usage = priced.reduce<TokenUsage | undefined>((sum, each) => sumUsage(sum, each), undefined);
    if (usage !== undefined) recordLate({ ...batch, model: nameOf(used[0]?.model ?? ''), usage }, parts);
  } catch (error) {
    parts.reportFailure(error, exchange.id);
  }
}

function shareOf(cost: Cost | null, share: number): Cost | null {
  if (cost === null) return null;
  const input = Math.round(cost.input * share);
  const output = Math.round(cost.output * share);
  return { input, output, total: input + output };
}
