// Starts the parent of the workers, with what it says itself in the log.
import { asInstance, type Identity } from '../../plane/identity.ts';
import { openLog } from '../../plane/log.ts';
import { endOnUncaught } from '../../plane/uncaught.ts';
import type { Environment } from '../environment.ts';
import { Parent } from './parent.ts';

/** `program`: the file that runs as parent and as worker. */
export function startWorkers(
  identity: Identity,
  { instance, logLevel, workers, variables }: Pick<Environment, 'instance' | 'logLevel' | 'workers' | 'variables'>,
  program: string,
): void {
  const { log, output } = openLog(asInstance(identity, instance), logLevel);
  // The workers end with it.
  endOnUncaught(log);
  new Parent({ workers, program, nodeOptions: variables['NODE_OPTIONS'] ?? '' }, log, output).start();
}
