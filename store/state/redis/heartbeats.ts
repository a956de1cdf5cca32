// The heartbeats of processes, in a hash beside the state.
import { bodyText, forgottenAfterMs, type Heartbeat, type StateStore } from '../state-store.ts';
import { keysVersion, type RedisKeys } from './keys.ts';
import { heartbeatScript, removeHeartbeatScript } from './scripts.ts';
import { parseHeartbeat } from './state.ts';
import type { Asking } from './uses.ts';

/** How heartbeats ask the server. */
export interface HeartbeatAsking extends Asking {
  /** All fields of a hash; undefined when the key holds something else. */
  readonly readAll: (key: string) => Promise<ReadonlyMap<string, string> | undefined>;
}

const version = String(keysVersion);

export function redisHeartbeats(
  { write, read, readAll }: HeartbeatAsking,
  keys: RedisKeys,
): Pick<StateStore, 'writeHeartbeat' | 'heartbeats' | 'removeHeartbeat'> {
  const ownKeys = [keys.state, keys.heartbeats, keys.heartbeatTimes];

  async function heartbeatOf(instance: string): Promise<Heartbeat[]> {
    const text = await read(['HGET', keys.heartbeats, instance]);
    const heartbeat = typeof text === 'string' ? parseHeartbeat(instance, text) : undefined;
    return heartbeat === undefined ? [] : [heartbeat];
  }

  return {
    async writeHeartbeat({ instance, atMs, body }) {
      const at = Math.floor(atMs);
      const value = `{"at_ms":${at},"body":${bodyText(body)}}`;
      await write(heartbeatScript, ownKeys, [version, instance, String(at), value, String(at - forgottenAfterMs)]);
    },
    async heartbeats(instance) {
      if (instance !== undefined) return heartbeatOf(instance);
      const found = await readAll(keys.heartbeats);
      const heartbeats: Heartbeat[] = [];
      for (const [name, text] of found ?? []) {
        const heartbeat = parseHeartbeat(name, text);
        if (heartbeat !== undefined) heartbeats.push(heartbeat);
      }
      return heartbeats.sort((a, b) => (a.instance < b.instance ? -1 : 1));
    },
    async removeHeartbeat(instance) {
      await write(removeHeartbeatScript, ownKeys, [version, instance]);
    },
  };
}
