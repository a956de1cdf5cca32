// The Redis store for its tests: how one opens it, waits for it, and hears its watch.
import type { Test } from 'tap';
import { redisKeys } from '../../../../store/state/redis/keys.ts';
import { openRedisStore, type RedisStoreOptions } from '../../../../store/state/redis/store.ts';
import type { StateStore } from '../../../../store/state/state-store.ts';
import type { RedisServer } from '../../../support/redis.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** For tests of deadlines; the others have time. */
export const hasty = { timeoutMs: 250 };
/** What a machine with other work may add to a deadline. */
export const graceMs = 1_000;
export const keys = redisKeys('gateway');

export function open(t: Test, { url }: RedisServer, more: Partial<RedisStoreOptions> = {}): StateStore {
  const store = openRedisStore({ redisUrl: url, timeoutMs: 10_000, pollMs: 20, ...more });
  t.teardown(() => store.close());
  return store;
}

/** The server's address with credentials. */
export function withUser({ url }: RedisServer, user: string, password: string): string {
  return url.replace('://', `://${encodeURIComponent(user)}:${encodeURIComponent(password)}@`);
}

/** Waits until the operation no longer rejects. */
export async function works<Result>(what: string, ask: () => Promise<Result>, deadlineMs = 10_000): Promise<Result> {
  let result: { readonly value: Result } | undefined;
  await waitFor(
    what,
    async () => {
      result = await ask().then(
        (value) => ({ value }),
        () => undefined,
      );
      return result !== undefined;
    },
    deadlineMs,
  );
  if (result === undefined) throw new Error(`${what} gave nothing`);
  return result.value;
}

export function counting(store: StateStore): Promise<() => number> {
  let calls = 0;
  store.watch(() => {
    calls += 1;
  });
  return waitFor('the watch', () => calls > 0).then(() => () => calls);
}

export const row = { key: 'k', epoch: 0, child: '', periodSeconds: 60, requests: [[100, 1]], tokens: [] } as const;
