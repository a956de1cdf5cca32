// The counters of proxies, in a hash of each instance beside the state.
import {
  type CounterBatch,
  counterPageRows,
  forgottenAfterMs,
  outdatedCounters,
  type StateStore,
} from '../state-store.ts';
import type { RedisCommand } from './connection.ts';
import { ofAnotherType } from './failure.ts';
import { counterField, keysVersion, type RedisKeys } from './keys.ts';
import { readPortion } from './portions.ts';
import { writeCountersScript } from './scripts.ts';
import { parseCounters } from './state.ts';
import type { Asking } from './uses.ts';

/** How counters ask the server. */
export interface CounterAsking extends Pick<Asking, 'write'> {
  /** The answer to a command; rejects also when the key holds something else. */
  readonly ask: (command: RedisCommand) => Promise<unknown>;
  /** The error as a `StoreUnavailable`. */
  readonly explain: (error: unknown) => Error;
}

export function redisCounters(
  { ask, write, explain }: CounterAsking,
  keys: RedisKeys,
): Pick<StateStore, 'loadCounters' | 'writeCounters'> {
  return {
    async loadCounters(instance, from = '0') {
      const key = keys.counters(instance);
      const stored = await ask(['HGET', key, 'sequence']).catch(ofAnotherType);
      // A cursor is a number; another text comes from another engine.
      const portion = { key, cursor: /^\d+$/.test(from) ? from : '0', fieldsAtOnce: counterPageRows };
      const [next, flat] = await readPortion(ask, portion)
        .catch((error: unknown) => {
          throw explain(error);
        })
        .catch(ofAnotherType)
        .then((found) => found ?? (['0', ['', '']] as const));
      const page = parseCounters(stored, flat);
      return next === '0' ? page : { ...page, next };
    },
    async writeCounters(instance, { sequence, nowMs, removed, rows }: CounterBatch) {
      const ownKeys = [keys.state, keys.counters(instance), keys.counterExpiry(instance)];
      const now = String(Math.floor(nowMs));
      const counts = [String(sequence), now, String(forgottenAfterMs), String(removed.length)];
      const values = [String(keysVersion), ...counts, ...removed];
      for (const { key, child, counts: text, expiresAtMs } of rows)
        values.push(counterField(key, child), text, String(expiresAtMs ?? ''));
      const stored = await write(writeCountersScript, ownKeys, values);
      if (stored !== null) throw outdatedCounters(instance, sequence, Number(stored));
    },
  };
}
