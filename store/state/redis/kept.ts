// Kept items in Redis: a key with an end for each, and indexes by which the oldest are found when there is too much.
import { setImmediate } from 'node:timers/promises';
import { type KeptEngine, keptOverheadBytes } from '../kept-items.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { RedisConnection } from './connection.ts';
import { ofAnotherType } from './failure.ts';
import { keepScript, removeKeptScript } from './kept-scripts.ts';
import { keptName, keysVersion, type RedisKeys } from './keys.ts';
import type { RedisScript } from './scripts.ts';

export interface RedisKeptOptions {
  readonly keys: RedisKeys;
  /** That the store belongs to a newer version. */
  readonly newer: () => Error;
}

/** Items dropped by one run of the script: it holds the server up for a millisecond or two. */
const portionItems = 200;
/** Runs that make room for one item: more than the largest can need. */
const mostRuns = 1_000;
/** Digits of an end in milliseconds, at most. */
const mostDigits = 16;
const colon = 0x3a;
const version = String(keysVersion);

/** Closes `connection` at its end. */
export function redisKept(connection: RedisConnection, { keys, newer }: RedisKeptOptions): KeptEngine {
  const ownKeys = [
    keys.state,
    keys.keptSizes,
    keys.keptSums,
    keys.keptEnds,
    keys.keptOrderOfAll,
    keys.kept(''),
    keys.keptOrder(''),
  ];

  async function run(script: RedisScript, values: readonly (string | Buffer)[]): Promise<unknown> {
    const answer = await connection.script(script, ownKeys, [version, ...values]);
    if (answer === 'newer') throw newer();
    return answer;
  }

  /** A portion at a time, so that others come in between. */
  async function makeRoom(values: readonly string[]): Promise<void> {
    for (let count = 0; count < mostRuns; count += 1) {
      if ((await run(keepScript, values)) !== 'again') return;
      await setImmediate();
    }
    throw new StoreUnavailable('timeout', 'the state store has too many kept items to make room');
  }

  return {
    async put({ key, bytes, expiresAtMs, limits }, nowMs) {
      const size = bytes.length + keptOverheadBytes;
      const numbers = [size, nowMs, expiresAtMs, limits.owner, limits.all, portionItems].map(String);
      const values = [keptName(key), ...numbers];
      const item = Buffer.concat([Buffer.from(`${expiresAtMs}:`), bytes]);
      while ((await run(keepScript, [...values, item])) === 'again') await makeRoom(values);
    },
    async get(key, nowMs) {
      const asked = connection.askBytes(['GET', keys.kept(keptName(key))]);
      const found = await asked.catch(ofAnotherType);
      return Buffer.isBuffer(found) ? inForce(found, nowMs) : undefined;
    },
    async remove(key, nowMs) {
      return (await run(removeKeptScript, [keptName(key), String(nowMs)])) === 1;
    },
    close: () => connection.close(),
  };
}

/** The bytes of an item before its end; undefined for garbage. */
function inForce(stored: Buffer, nowMs: number): Buffer | undefined {
  const at = stored.subarray(0, mostDigits + 1).indexOf(colon);
  if (at < 1 || !(Number(stored.toString('latin1', 0, at)) > nowMs)) return undefined;
  return stored.subarray(at + 1);
}
