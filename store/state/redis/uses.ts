// When documents were used last, in a hash beside the state.
import type { DocumentUse, DocumentUses } from '../state-store.ts';
import type { RedisCommand } from './connection.ts';
import { keysVersion, type RedisKeys } from './keys.ts';
import { forgetUsesScript, noteUsesScript, type RedisScript } from './scripts.ts';
import { fieldOf } from './state.ts';

/** How the store asks its server. */
export interface Asking {
  /** Runs a script that writes beside the state. */
  readonly write: (script: RedisScript, keys: readonly string[], values: readonly string[]) => Promise<unknown>;
  /** The answer to a command; undefined when the key holds something else. */
  readonly read: (command: RedisCommand) => Promise<unknown>;
}

/** Ids of one command: their answer stays far below the largest one. */
const idsAtOnce = 1_000;
const version = String(keysVersion);

export function redisUses({ write, read }: Asking, keys: RedisKeys): DocumentUses {
  return {
    async note(kind, uses) {
      const values = uses.flatMap(({ id, hour }) => [fieldOf({ kind, id }), id, String(hour)]);
      await write(noteUsesScript, [keys.state, keys.uses(kind)], [version, ...values]);
    },
    async of(kind, ids) {
      const found = new Map<string, number>();
      for (let first = 0; first < ids.length; first += idsAtOnce) {
        const portion = ids.slice(first, first + idsAtOnce);
        const answer = await read(['HMGET', keys.uses(kind), ...portion]);
        for (const { id, hour } of usesIn(portion, answer)) found.set(id, hour);
      }
      return found;
    },
    async forget(kind, ids) {
      await write(forgetUsesScript, [keys.state, keys.uses(kind)], [version, ...ids]);
    },
  };
}

/** Without garbage. */
function usesIn(ids: readonly string[], answer: unknown): DocumentUse[] {
  const hours = Array.isArray(answer) ? (answer as unknown[]) : [];
  return ids.flatMap((id, index) => {
    const text = hours[index];
    return typeof text === 'string' && /^[0-9]{1,9}$/.test(text) ? [{ id, hour: Number(text) }] : [];
  });
}
