// Reads a hash of any size in answers of bounded size, so that the memory of a plane does not depend on the store.
import type { RedisCommand } from './connection.ts';
import { AbsurdAnswer } from './guard.ts';

export interface HashReading {
  readonly key: string;
  /** About how many fields come at first: as many as fit into half of the largest answer, however large they are. */
  readonly fieldsAtOnce: number;
}

export interface HashFields {
  readonly fields: ReadonlyMap<string, string>;
  /** They came in one answer, so they are as of one moment. */
  readonly isWhole: boolean;
}

/** Of all fields and values of a hash, in characters: read as JSON they take several times as much memory. */
const most = 64 * 1024 * 1024;
/** When fields turn out to be small, more of them come at once: about so many characters, and so many fields. */
const wantedCharacters = 2 * 1024 * 1024;
const mostAtOnce = 4_000;
/** A server that never says that this was all is not asked for ever. */
const mostPortions = 4_096;

/**
 * Fields and values of a hash. What is there all the time is found, also while others write. Rejects with what `ask` rejects with, and
 * with `AbsurdAnswer` when there is more than the most.
 */
export async function readHash(
  ask: (command: RedisCommand) => Promise<unknown>,
  { key, fieldsAtOnce }: HashReading,
): Promise<HashFields> {
  const fields = new Map<string, string>();
  let size = 0;
  let cursor = '0';
  for (let portion = 1; portion <= mostPortions; portion += 1) {
    const fitting = fields.size === 0 ? 0 : Math.min(mostAtOnce, Math.floor((wantedCharacters * fields.size) / size));
    const portionOf = { key, cursor, fieldsAtOnce: Math.max(fieldsAtOnce, fitting) };
    const [next, flat] = await readPortion(ask, portionOf);
    for (let at = 0; at + 1 < flat.length; at += 2) {
      const [field = '', value = ''] = [flat[at], flat[at + 1]];
      size += field.length + value.length;
      fields.set(field, value);
    }
    if (size > most) throw new AbsurdAnswer(`${key} holds more than ${most} characters`);
    if (next === '0') return { fields, isWhole: portion === 1 };
    cursor = next;
  }
  throw new AbsurdAnswer(`${key} has no end`);
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

/**
 * Applies the result of `changesScript` to fields that were read in portions before: the fields as of the moment of the
 * script. Throws an AbsurdAnswer for a result of any other form.
 */
export function withChanges(fields: ReadonlyMap<string, string>, answer: unknown): ReadonlyMap<string, string> {
  if (!Array.isArray(answer) || !answer.every((each) => typeof each === 'string')) {
    throw new AbsurdAnswer('it answered a script with something else');
  }
  const [names = '', ...flat] = answer;
  const newer = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2) newer.set(flat[at] ?? '', flat[at + 1] ?? '');
  const whole = new Map<string, string>();
  for (const name of names.split('\n')) {
    const value = newer.get(name) ?? fields.get(name);
    if (value !== undefined) whole.set(name, value);
  }
  return whole;
}
