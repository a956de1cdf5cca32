// What caps that hold for a fleet cost below them, × caps of each proxy alone: two gateways on one Redis, one of them beside a second proxy.
import { join } from 'node:path';
import { startRedis } from '../support/redis.ts';
import { type Compared, compareSides, renderComparison } from './compare.ts';
import type { Options } from './options.ts';
import { ROOT, type Running, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';

const scopes = { before: 'replica', after: 'fleet' } as const;

/** The second proxy serves nothing: it shares the caps, so that the first may not hold all of them. */
export async function measureFleet(session: Session, extent: Options): Promise<Compared[]> {
  const ends: (() => unknown)[] = [];
  try {
    const redis = await startRedis({ teardown: (end) => ends.push(end) });
    const start = (name: string, scope: 'fleet' | 'replica'): Promise<Running> => {
      progress(`starting ${name}`);
      const env = { REDIS_URL: redis.url, GATEWAY_INSTANCE: name };
      return startGateway(session.upstream.url, join(session.folder, name), { core: session.core, env, scope });
    };
    const beside = await start('beside', 'fleet');
    ends.push(() => beside.stop());
    return await compareSides(session, (side, launch) => start(`${scopes[side]}-${launch}`, scopes[side]), extent);
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

/** The table a person reads. */
export function renderFleet(all: readonly Compared[]): string {
  const sides = { before: { name: scopes.before, path: ROOT }, after: { name: scopes.after, path: ROOT } };
  return `${renderComparison(sides, all)}\n  target: ratio at most 1.10`;
}
