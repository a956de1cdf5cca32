// Where the verdicts about budgets lie in the state store: beside the heartbeats, under names with a space, which no instance has.
import { createHash } from 'node:crypto';
import { type BudgetVerdicts, readVerdicts, verdictsBody } from '../../domain/budgets/verdicts.ts';
import type { StateStore } from './state-store.ts';

/** A small record that is read often, and the whole, which is read when the small one says that it is another. */
const markName = 'budgets mark';
const verdictsName = 'budgets verdicts';

/** Verdicts with the name of their content. */
export interface PublishedVerdicts extends BudgetVerdicts {
  readonly revision: string;
}

/** The name of a content: two control planes that find the same give it the same name. */
export function revisionOfVerdicts({ verdicts, unlisted }: BudgetVerdicts): string {
  const text = JSON.stringify(verdictsBody({ verdicts, unlisted, computedAtMs: 0 }));
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Tells the verdicts to all proxies. `nowMs`: Unix milliseconds. Rejects with `StoreUnavailable`. */
export async function publishVerdicts(
  store: Pick<StateStore, 'writeHeartbeat'>,
  verdicts: PublishedVerdicts,
  nowMs: number,
): Promise<void> {
  const { revision } = verdicts;
  const atMs = Math.floor(nowMs);
  // The whole first: a reader that knows the mark finds at least what it names.
  await store.writeHeartbeat({ instance: verdictsName, atMs, body: { revision, ...verdictsBody(verdicts) } });
  await store.writeHeartbeat({ instance: markName, atMs, body: { revision } });
}

/**
 * The verdicts in the store, when they are others than those named `known`; undefined: they are the same, or there are none that can be read.
 * Rejects with `StoreUnavailable`.
 */
export async function fetchVerdicts(
  store: Pick<StateStore, 'heartbeats'>,
  known: string | undefined,
): Promise<PublishedVerdicts | undefined> {
  const [mark] = await store.heartbeats(markName);
  const wanted = revisionIn(mark?.body);
  if (wanted === undefined || wanted === known) return undefined;
  const [whole] = await store.heartbeats(verdictsName);
  const revision = revisionIn(whole?.body);
  const verdicts = readVerdicts(whole?.body);
  return revision === undefined || verdicts === undefined ? undefined : { ...verdicts, revision };
}

function revisionIn(body: unknown): string | undefined {
  const revision = typeof body === 'object' && body !== null && 'revision' in body ? body.revision : undefined;
  return typeof revision === 'string' ? revision : undefined;
}
