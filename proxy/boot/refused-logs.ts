// Tells the operator of addresses that were not dialled, and of keys that a provider refuses. Clients learn neither.
import type { Logger } from 'pino';
import type { Log } from '../../plane/log-events.ts';
import type { RefusedKey } from '../upstream/api-keys.ts';
import type { RefusedAddress } from '../upstream/dial/dial.ts';

/** A provider is told of once in this time, however often it is asked for. Milliseconds. */
const quietMs = 60_000;

const advice: Readonly<Record<RefusedAddress['kind'], string>> = {
  private: 'it is of a private network; set allow_private: true for the provider or webhook if it is meant',
  forbidden: 'link-local, multicast and metadata addresses are never dialled',
};

/** `nowMs`: a clock in milliseconds. */
export function createRefusedAddressLog(
  log: Pick<Logger, 'warn'>,
  nowMs: () => number,
): (refused: RefusedAddress) => void {
  /** When each provider was told of. */
  const toldAtMs = new Map<string, number>();
  return ({ provider = '', address, kind }) => {
    const now = nowMs();
    for (const [name, atMs] of toldAtMs) if (atMs + quietMs <= now) toldAtMs.delete(name);
    if (toldAtMs.has(provider)) return;
    toldAtMs.set(provider, now);
    log.warn({ provider, address }, `the address of a provider or webhook was not dialled: ${advice[kind]}`);
  };
}

/** The key is named by its place in the configuration. */
export function logRefusedKeys(log: Log): (refused: RefusedKey) => void {
  return ({ provider, position, count }) =>
    log.warn({ provider, key: position }, `${provider} refuses the API key (401), number ${position} of ${count}`);
}
