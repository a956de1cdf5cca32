// Reset epochs: the numbers in the state store that say from which generation on the counters of a rule count.
import type { StoredText } from './manual-rule.ts';

/** The kind of their documents. The id is the rule key, or empty for the epoch of all rules; the body is `{"epoch": n}`. */
export const resetEpochKind = 'reset_epoch';

/** The id of the epoch that all rules share. */
export const everyRule = '';

export interface ResetEpochs {
  /** The epoch of a rule's counters: its own plus that of all. */
  of(key: string): number;
  /** What the document of this id says; 0 when there is none. */
  stored(id: string): number;
  /** The ids of documents that say no epoch. */
  readonly unreadable: readonly string[];
}

/** Reads the epochs among the documents of a store; other kinds are passed over, what cannot be read counts as 0. */
export function resetEpochs(documents: readonly StoredText[]): ResetEpochs {
  const epochs = new Map<string, number>();
  const unreadable: string[] = [];
  for (const { kind, id, body } of documents) {
    if (kind !== resetEpochKind) continue;
    const epoch = epochOf(body);
    if (epoch === undefined) unreadable.push(id);
    else epochs.set(id, epoch);
  }
  const stored = (id: string): number => epochs.get(id) ?? 0;
  return { of: (key) => stored(key) + stored(everyRule), stored, unreadable };
}

/** The body of a document that says `epoch`. */
export function resetEpochBody(epoch: number): object {
  return { epoch };
}

function epochOf(body: unknown): number | undefined {
  const epoch = typeof body === 'object' && body !== null && 'epoch' in body ? body.epoch : undefined;
  return Number.isSafeInteger(epoch) && (epoch as number) >= 0 ? (epoch as number) : undefined;
}
