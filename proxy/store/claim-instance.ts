// At start: this process takes its instance name, or ends when another process has it.
import type { Logger } from 'pino';
import { refuseStart } from '../../schemas/refuse-start.ts';
import { InstanceInUse, type InstanceLock, lockInstance } from './instance-lock.ts';

/** Takes the lock in `folder`. Ends the process when another one runs as `instance`; undefined when the folder cannot be written. */
export function claimInstance(folder: string, instance: string, log: Pick<Logger, 'warn'>): InstanceLock | undefined {
  try {
    return lockInstance(folder);
  } catch (error) {
    if (error instanceof InstanceInUse) {
      refuseStart('proxy', [`another proxy runs as instance "${instance}"; give each its own GATEWAY_INSTANCE`]);
    }
    log.warn({ err: error }, `${folder} cannot be written; check GATEWAY_DATA`);
    return undefined;
  }
}
