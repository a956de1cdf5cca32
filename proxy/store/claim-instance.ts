// At start: this process takes its instance name, or ends when another process has it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Identity } from '../../plane/identity.ts';
import { exitAtStart } from '../../plane/start.ts';
import { isLocked } from '../../store/file-lock.ts';
import { InstanceInUse, type InstanceLock, lockInstance } from '../../store/instance-lock.ts';

export interface Claim {
  /** As which this process writes its lines; its instance is what is claimed. */
  readonly identity: Identity;
  /** Where the folders of instances lie. */
  readonly directory: string;
  /** The name that this replica had by default before host names were part of it. */
  readonly former: string | undefined;
  /** How long it is waited for another process to end that has the name. Milliseconds. */
  readonly patienceMs: number;
}

/** Between two attempts. Milliseconds. */
const pauseMs = 50;

/**
 * Takes the lock in the folder of `instance`. Ends the process when another one runs by that name; undefined when the folder cannot be
 * written. What was stored by a former name stays there, and the log says how to go on with it.
 */
export function claimInstance(
  { identity, directory, former, patienceMs }: Claim,
  log: Pick<Logger, 'warn'>,
): InstanceLock | undefined {
  const { instance } = identity;
  const folder = join(directory, instance);
  if (former !== undefined && existsSync(join(directory, former)) && !existsSync(folder)) {
    log.warn(
      `this proxy is instance "${instance}" now, and the counters and copies of "${former}" stay behind; to go on with them, set GATEWAY_INSTANCE=${former} and start again`,
    );
  }
  for (let waitedMs = 0; waitedMs < patienceMs && isInUse(folder); waitedMs += pauseMs) sleep();
  try {
    return lockInstance(folder);
  } catch (error) {
    if (error instanceof InstanceInUse) {
      exitAtStart(identity, [`another proxy runs as instance "${instance}"; give each its own GATEWAY_INSTANCE`]);
    }
    log.warn({ err: error }, `${folder} cannot be written; check GATEWAY_DATA`);
    return undefined;
  }
}

function isInUse(folder: string): boolean {
  return isLocked(join(folder, 'lock'));
}

/** Nothing else runs at the start. */
function sleep(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
}
