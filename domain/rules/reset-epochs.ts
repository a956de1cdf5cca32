// Reset epochs: numbers in the state store. Raising the epoch of a rule clears its counters.
import { parseMoment } from '../../schemas/formats/moment.ts';

/** The kind of their documents. The id is the rule key, or empty for the epoch of all rules; the body is `{"epoch": n, "raised_at": moment}`. */
export const resetEpochKind = 'reset_epoch';

/** The id of the epoch that all rules share. */
export const everyRule = '';

/** The content of one document. */
export interface ResetEpoch {
  /** The id of the document. */
  readonly id: string;
  readonly epoch: number;
  /** Unix milliseconds; Infinity when the document has none. */
  readonly raisedAtMs: number;
}

export interface ResetEpochs {
  /** The epoch of a rule's counters: its own plus that of all. */
  of(key: string): number;
  /** The epoch of the document with this id; 0 without a document. */
  stored(id: string): number;
  /** When each epoch was last raised, by document id, in Unix milliseconds; Infinity when the document has no time. */
  readonly raisedAtMs: ReadonlyMap<string, number>;
}

/** The epochs of all rules; without a document the epoch is 0. */
export function resetEpochs(all: readonly ResetEpoch[]): ResetEpochs {
  const epochs = new Map(all.map(({ id, epoch }) => [id, epoch]));
  const raisedAtMs = new Map(all.map(({ id, raisedAtMs: atMs }) => [id, atMs]));
  const stored = (id: string): number => epochs.get(id) ?? 0;
  return { of: (key) => stored(key) + stored(everyRule), stored, raisedAtMs };
}

/** Reads a document; undefined when it has no epoch. */
export function readResetEpoch(id: string, body: unknown): ResetEpoch | undefined {
  const epoch = epochOf(body);
  return epoch === undefined ? undefined : { id, epoch, raisedAtMs: raisedAtMsOf(body) };
}

/** The body of a document with `epoch`; `raisedAt`: when it was raised (RFC 3339, UTC). */
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
