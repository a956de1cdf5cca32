// One log line per client address and minute about failed logins: an address that guesses keys shows, and cannot fill the log.

import type { FailedLogin, LoginFailure } from '../domain/keys/credentials.ts';
import { addressBlock } from '../plane/access/failed-logins.ts';

/** Between two lines about one address. */
const quietMs = 60_000;
/** Addresses that are told apart; further ones have one line together. */
const mostAddresses = 1_000;

/** The failures of an address since its last line. */
interface Failures {
  /** The latest one; undefined: of several. */
  address: string | undefined;
  toldMs: number;
  count: number;
  reasons: Partial<Record<LoginFailure, number>>;
  /** The latest managed key that was refused. */
  keyId: string | undefined;
}

export interface FailedLoginLines {
  /** Takes a failure: the first of an address is told at once, later ones with their number when a minute is over. */
  note(address: string, failed: FailedLogin, nowMs: number): void;
  /** Writes the lines that are due at `nowMs` (Unix milliseconds). */
  tell(nowMs: number): void;
}

/** `log` takes a line for each address, at most one a minute. */
export function createFailedLoginLines(log: Record<'warn', (fields: object, text: string) => void>): FailedLoginLines {
  const byBlock = new Map<string, Failures>();

  const tellOf = (failures: Failures, nowMs: number): void => {
    const { address, count, reasons, keyId } = failures;
    const who = { ...(address === undefined ? {} : { client_address: address }), ...(keyId && { key_id: keyId }) };
    log.warn({ ...who, count, reasons }, 'failed logins');
    Object.assign(failures, { toldMs: nowMs, count: 0, reasons: {}, keyId: undefined });
  };
  const failuresOf = (address: string): Failures => {
    const block = addressBlock(address);
    const isKnown = byBlock.has(block) || byBlock.size < mostAddresses;
    const key = isKnown ? block : 'others';
    const known = byBlock.get(key);
    // The address of a block is one of IPv4, without what IPv6 writes before it.
    const shown = block.includes('/') ? address : block;
    if (known !== undefined) return isKnown ? Object.assign(known, { address: shown }) : known;
    const toldMs = Number.NEGATIVE_INFINITY;
    const made = { address: isKnown ? shown : undefined, toldMs, count: 0, reasons: {}, keyId: undefined };
    byBlock.set(key, made);
    return made;
  };
  return {
    note(address, { reason, keyId }, nowMs) {
      const failures = failuresOf(address);
      failures.count += 1;
      failures.reasons[reason] = (failures.reasons[reason] ?? 0) + 1;
      failures.keyId = keyId ?? failures.keyId;
      if (nowMs - failures.toldMs >= quietMs) tellOf(failures, nowMs);
    },
    tell(nowMs) {
      for (const [block, failures] of byBlock) {
        if (nowMs - failures.toldMs < quietMs) continue;
        if (failures.count === 0) byBlock.delete(block);
        else tellOf(failures, nowMs);
      }
    },
  };
}
