// The engines of shared limits for the contract suite: where one keeps them, how it is opened, and how it is made to lose them.
import { rmSync } from 'node:fs';
import { t as suite } from 'tap';
import type { LimitNotice } from '../../domain/limits/exchange.ts';
import type { LimitLine, LimitStore } from '../../store/state/limits/limit-store.ts';
import { openStateStore } from '../../store/state/open.ts';
import { limitFilePath } from '../../store/state/sqlite/limit-file.ts';
import { sqliteLimits } from '../../store/state/sqlite/limits.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { asDocumentedUser, documentedUsers } from '../support/redis-user.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

/** One place of its own for one test. */
export interface LimitPlace {
  /** Closed with the test. `clockMs`: instead of the engine's clock. */
  open(clockMs?: () => number): LimitStore;
  /** Everything is gone. */
  empty(): Promise<void>;
}

export interface LimitEngine {
  readonly name: string;
  /** Counters end by the time that the store tells, not by the clock of the machine. */
  readonly forgetsByOwnTime: boolean;
  /** Of the random worlds that are played on it. */
  readonly seeds: number;
  start(t: Teardown): Promise<LimitPlace>;
}

export const sqliteLimitEngine: LimitEngine = {
  name: 'SQLite',
  forgetsByOwnTime: true,
  // It runs the book itself.
  seeds: 3,
  async start(t) {
    const directory = temporaryDirectory(t, 'gateway-limits');
    return {
      open(clockMs) {
        // Without the rest of the store, which has a thread of its own.
        const limits = sqliteLimits({ directory, clockMs });
        t.teardown(() => limits.close());
        return limits;
      },
      async empty() {
        for (const side of ['', '-wal', '-shm']) rmSync(limitFilePath(directory) + side, { force: true });
      },
    };
  },
};

let shared: Promise<RedisServer> | undefined;

export const redisLimitEngine: LimitEngine = {
  name: 'Redis',
  forgetsByOwnTime: false,
  seeds: 12,
  async start(t) {
    shared ??= startRedis(suite, { users: documentedUsers });
    const server = await shared;
    const client = server.client();
    await client.flushall();
    return {
      open: (limitClockMs) =>
        opened(t, { directory: '/nonexistent', redisUrl: asDocumentedUser(server), limitClockMs }),
      async empty() {
        await client.flushall();
      },
    };
  },
};

type Opening = Parameters<typeof openStateStore>[0];

function opened(t: Teardown, options: Opening): LimitStore {
  const store = openStateStore(options);
  t.teardown(() => store.close());
  return store.limits;
}

/** A listener that remembers what it was told. */
export class Heard {
  readonly lines: LimitLine[] = [];
  readonly lost: Error[] = [];
  readonly notices: LimitNotice[] = [];

  constructor(store: LimitStore) {
    store.connect({
      ready: (line) => this.lines.push(line),
      lost: (error) => this.lost.push(error),
      told: (notice) => this.notices.push(notice),
    });
  }

  /** The line with that number, counted from 1; default: the first. */
  line(number = 1): Promise<LimitLine> {
    return waitFor(`line ${number}`, () => this.lines[number - 1]);
  }
}
