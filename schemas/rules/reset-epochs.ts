// Reset epochs: the numbers in the state store that say from which generation on the counters of a rule count.
import { parseMoment } from './moment.ts';

/** The kind of their documents. The id is the rule key, or empty for the epoch of all rules; the body is `{"epoch": n, "raised_at": moment}`. */
export const resetEpochKind = 'reset_epoch';

/** The id of the epoch that all rules share. */
export const everyRule = '';

/** What one document says. */
export interface ResetEpoch {
  /** Of the document. */
  readonly id: string;
  readonly epoch: number;
  /** Unix milliseconds; infinite when it does not say. */
  readonly raisedAtMs: number;
}

export interface ResetEpochs {
  /** The epoch of a rule's counters: its own plus that of all. */
  of(key: string): number;
  /** What the document of this id says; 0 when there is none. */
  stored(id: string): number;
  /** When each was raised last, by document id, in Unix milliseconds; infinite when it does not say. */
  readonly raisedAtMs: ReadonlyMap<string, number>;
}

/** The epochs of all rules; what has no document counts as 0. */
export function resetEpochs(all: readonly ResetEpoch[]): ResetEpochs {
  const epochs = new Map(all.map(({ id, epoch }) => [id, epoch]));
  const raisedAtMs = new Map(all.map(({ id, raisedAtMs: atMs }) => [id, atMs]));
  const stored = (id: string): number => epochs.get(id) ?? 0;
  return { of: (key) => stored(key) + stored(everyRule), stored, raisedAtMs };
}

/** The epoch that a document says; undefined when it says none. */
export function readResetEpoch(id: string, body: unknown): ResetEpoch | undefined {
  const epoch = epochOf(body);
  return epoch === undefined ? undefined : { id, epoch, raisedAtMs: raisedAtMsOf(body) };
}

/** The body of a document that says `epoch`, raised at this moment (RFC 3339, UTC), if one is known. */
export function resetEpochBody(epoch: number, raisedAt?: string): object {
  return { epoch, ...(raisedAt === undefined ? {} : { raised_at: raisedAt }) };
}

function epochOf(body: unknown): number | undefined {
  const epoch = typeof body === 'object' && body !== null && 'epoch' in body ? body.epoch : undefined;
  return Number.isSafeInteger(epoch) && (epoch as number) >= 0 ? (epoch as number) : undefined;
}

function raisedAtMsOf(body: unknown): number {
  const moment = typeof body === 'object' && body !== null && 'raised_at' in body ? body.raised_at : undefined;
  return (typeof moment === 'string' ? parseMoment(moment) : undefined) ?? Number.POSITIVE_INFINITY;
}
