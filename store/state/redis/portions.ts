// Reads a hash of any size in answers of bounded size, so that the memory of a plane does not depend on the store.
import type { RedisCommand } from './connection.ts';
import { AbsurdAnswer } from './guard.ts';

export interface HashReading {
  readonly key: string;
  /** About how many fields come at first: as many as fit into half of the largest answer, however large they are. */
  readonly fieldsAtOnce: number;
}

/** Of all fields and values of a hash, in characters: read as JSON they take several times as much memory. 100,000 keys have some 50 million. */
const most = 256 * 1024 * 1024;
/**
 * When fields turn out to be small, more of them come at once: about so many characters, and so many fields. To take them in holds the
 * process up for some milliseconds.
 */
const wantedCharacters = 512 * 1024;
const mostAtOnce = 1_000;
/** A server that never says that this was all is not asked for ever. */
const mostPortions = 16_384;

/**
 * Fields and values of a hash in turn, in portions. What is there all the time is found, also while others write; a field may come twice.
 * Rejects with what `ask` rejects with, and with `AbsurdAnswer` when there is more than the most.
 */
export async function* hashPortions(
  ask: (command: RedisCommand) => Promise<unknown>,
  { key, fieldsAtOnce }: HashReading,
): AsyncGenerator<readonly string[], void> {
  let [fields, size] = [0, 0];
  let cursor = '0';
  for (let portion = 1; portion <= mostPortions; portion += 1) {
    const fitting = fields === 0 ? 0 : Math.min(mostAtOnce, Math.floor((wantedCharacters * fields) / size));
    const portionOf = { key, cursor, fieldsAtOnce: Math.max(fieldsAtOnce, fitting) };
    const [next, flat] = await readPortion(ask, portionOf);
    for (const text of flat) size += text.length;
    fields += flat.length / 2;
    if (size > most) throw new AbsurdAnswer(`${key} holds more than ${most} characters`);
    yield flat;
    if (next === '0') return;
    cursor = next;
  }
  throw new AbsurdAnswer(`${key} has no end`);
}

/** Fields and values of a small hash. */
export async function readHash(
  ask: (command: RedisCommand) => Promise<unknown>,
  reading: HashReading,
): Promise<ReadonlyMap<string, string>> {
  const fields = new Map<string, string>();
  for await (const flat of hashPortions(ask, reading)) {
    for (let at = 0; at + 1 < flat.length; at += 2) fields.set(flat[at] ?? '', flat[at + 1] ?? '');
  }
  return fields;
}

/** Fields and values in turn from a cursor on, `0` at first, and the next cursor, `0` at the end. A field may come twice. */
export async function readPortion(
  ask: (command: RedisCommand) => Promise<unknown>,
  { key, cursor, fieldsAtOnce }: Pick<HashReading, 'key' | 'fieldsAtOnce'> & { readonly cursor: string },
): Promise<readonly [next: string, flat: readonly string[]]> {
  return scanned(await ask(['HSCAN', key, cursor, 'COUNT', String(fieldsAtOnce)]));
}

function scanned(answer: unknown): readonly [cursor: string, flat: readonly string[]] {
  const [cursor, flat] = Array.isArray(answer) ? (answer as unknown[]) : [];
  if (typeof cursor !== 'string' || !Array.isArray(flat) || !flat.every((each) => typeof each === 'string')) {
    throw new AbsurdAnswer('it answered HSCAN with something else');
  }
  return [cursor, flat];
}
