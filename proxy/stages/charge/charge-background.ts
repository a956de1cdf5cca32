// Charges a response that its provider made in the background: its usage comes with the response, so it is charged at the first read.

import type { Budgets } from '../../budgets/budgets.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { ResponseHome } from '../../kept/kept-responses.ts';
import { ownerOf } from '../../kept/owner.ts';
import type { HomeAnswer } from '../../kept/responses/ask-home.ts';
import type { StoredResponses } from '../../kept/responses/stored-responses.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { RecordedCaller } from '../../records/record-of-trip.ts';
import type { Records } from '../../records/records.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { findUsage } from '../../tokens/find-usage.ts';
import type { TokenUsage } from '../../tokens/token-usage.ts';
import { recordLate } from './record-late.ts';

/** An answer of the provider that keeps a response. */
export interface ReadResponse {
  readonly id: string;
  readonly home: ResponseHome;
  readonly answer: Pick<HomeAnswer, 'status' | 'body'>;
  /** Of the endpoint that it was read at, as metrics say it. */
  readonly path: string;
  readonly exchange: Exchange;
  readonly principal: RecordedCaller;
}

interface ChargeParts {
  readonly budgets: Budgets;
  /** The snapshot in force; a request asks once. */
  readonly current: () => Snapshot;
  readonly limiter: Limiter;
  /** Monotonic milliseconds, anchored to wall time at start. */
  readonly nowMs: () => number;
  /** Takes the records of audit and usage. */
  readonly records: Records;
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
  /** Those that the gateway keeps, and where providers keep others. */
  readonly storedResponses: StoredResponses;
}

/** Once for each response that was begun in the background, whichever proxy reads it. Never rejects: the client has a right to its answer. */
export async function chargeBackground(read: ReadResponse, parts: ChargeParts): Promise<void> {
  const usage = findUsage(read.answer.body);
  if (usage === undefined) return;
  try {
    const model = await parts.storedResponses.finish(read.id, ownerOf(read.principal));
    if (model !== undefined) charge(read, { model, usage }, parts);
  } catch (error) {
    parts.reportFailure(error, read.exchange.id);
  }
}

function charge(
  { id, home: { provider }, answer: { status }, path, exchange, principal }: ReadResponse,
  { model, usage }: { readonly model: string; readonly usage: TokenUsage },
  parts: ChargeParts,
): void {
  const { limiter, nowMs } = parts;
  if (!recordLate({ id, provider, model, usage, status, path, exchange, principal }, parts)) return;
  for (const matches of [limiter.forUserPath(principal.userPath), limiter.forTarget(provider, model)])
    limiter.charge(matches, usage.totalTokens, Math.floor(nowMs()));
}
