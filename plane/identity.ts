// Who writes a log line: the same four members begin every line of a process, so that a collector maps them without a pipeline.
import { hostname } from 'node:os';

export type Plane = 'proxy' | 'control-plane';

/** The folder of the control plane in the data directory. Proxies have folders of their own there: none of them may have this name. */
export const controlPlaneFolder: Plane = 'control-plane';

/** The names are those of common schemas of logs. */
export interface Identity {
  readonly service: 'model-gateway';
  readonly plane: Plane;
  /** Which replica. */
  readonly instance: string;
  /** Of the gateway, as in package.json. */
  readonly version: string;
}

/** The identity of this process; `instance` is the name of the machine until the settings say more. */
export function identityOf(plane: Plane, version: string, instance: string = hostname()): Identity {
  return Object.freeze({ service: 'model-gateway', plane, instance, version });
}

/** The identity with another instance name. */
export function asInstance(identity: Identity, instance: string): Identity {
  return Object.freeze({ ...identity, instance });
}
