// Reset epochs: the numbers in the state store that say from which generation on the counters of a rule count.
import type { StoredText } from './manual-rule.ts';
import { parseMoment } from './moment.ts';

/** The kind of their documents. The id is the rule key, or empty for the epoch of all rules; the body is `{"epoch": n, "raised_at": moment}`. */
export const resetEpochKind = 'reset_epoch';

/** The id of the epoch that all rules share. */
export const everyRule = '';

export interface ResetEpochs {
  /** The epoch of a rule's counters: its own plus that of all. */
  of(key: string): number;
  /** What the document of this id says; 0 when there is none. */
  stored(id: string): number;
  /** When each was raised last, by document id, in Unix milliseconds; infinite when it does not say. */
  readonly raisedAtMs: ReadonlyMap<string, number>;
  /** The ids of documents that say no epoch. */
  readonly unreadable: readonly string[];
}

/** Reads the epochs among the documents of a store; other kinds are passed over, what cannot be read counts as 0. */
export function resetEpochs(documents: readonly StoredText[]): ResetEpochs {
  const epochs = new Map<string, number>();
  const raisedAtMs = new Map<string, number>();
  const unreadable: string[] = [];
  for (const { kind, id, body } of documents) {
    if (kind !== resetEpochKind) continue;
    const epoch = epochOf(body);
    if (epoch === undefined) {
      unreadable.push(id);
      continue;
    }
    epochs.set(id, epoch);
    raisedAtMs.set(id, raisedAtMsOf(body));
  }
  const stored = (id: string): number => epochs.get(id) ?? 0;
  return { of: (key) => stored(key) + stored(everyRule), stored, raisedAtMs, unreadable };
}

/** The body of a document that says `epoch`, raised at this moment (RFC 3339, UTC). */
export function resetEpochBody(epoch: number, raisedAt: string): object {
  return { epoch, raised_at: raisedAt };
}

function epochOf(body: unknown): number | undefined {
  const epoch = typeof body === 'object' && body !== null && 'epoch' in body ? body.epoch : undefined;
  return Number.isSafeInteger(epoch) && (epoch as number) >= 0 ? (epoch as number) : undefined;
}

function raisedAtMsOf(body: unknown): number {
  const moment = typeof body === 'object' && body !== null && 'raised_at' in body ? body.raised_at : undefined;
  return (typeof moment === 'string' ? parseMoment(moment) : undefined) ?? Number.POSITIVE_INFINITY;
}
