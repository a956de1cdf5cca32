// Warns of a file of records that is new at a start, where a fleet has run before: it may have been lost with the disk of a pod.
import type { Log } from '../../plane/log-events.ts';

export interface NewFileFacts {
  /** Records are kept in a file that did not exist at this start. */
  readonly isNewFile: boolean;
  /** State and journals lie in Redis, so what is on this disk alone may be lost without them. */
  readonly hasRedis: boolean;
  /** The state store had rules or keys at this start: it is not the first one of the fleet. */
  readonly wasUsed: boolean;
}

/** Whether records of before are missing, as far as can be told. */
export function warnOfNewFile({ isNewFile, hasRedis, wasUsed }: NewFileFacts, log: Pick<Log, 'warn'>): boolean {
  if (!isNewFile || !hasRedis) return false;
  log.warn(
    'records are kept in a file that was new at this start: audit, usage and what budgets have spent before are not in it; set DATABASE_URL, or keep GATEWAY_DATA on a disk that outlives the process',
  );
  return wasUsed;
}
