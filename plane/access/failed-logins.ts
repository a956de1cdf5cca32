// Counts failed logins by reason, and pauses an address that fails often, so that keys cannot be guessed. Another address is never paused.
import type { LoginFailure } from '../../domain/keys/credentials.ts';

/** Failures of an address within a minute that begin a pause. */
const mostFailures = 20;
const windowMs = 60_000;
/** The first pause of an address; each further one is twice as long, up to the longest. Milliseconds. */
const firstPauseMs = 60_000;
const longestPauseMs = 15 * 60_000;
/** An address that had no pause for this long begins with the first one again. Milliseconds. */
const forgivenAfterMs = 3_600_000;
/** Addresses in one generation. Two generations are kept; an address that tries again moves to the younger one. */
const mostAddresses = 5_000;

/** How often a key was refused for each reason. */
export type LoginFailureCounts = Readonly<Record<LoginFailure, number>>;

/** The recent failures by address. Memory is bounded: about 4 MB when full. */
export interface FailedLogins {
  /** Counts a refused request, for the metrics alone. */
  note(reason: LoginFailure): void;
  counts(): LoginFailureCounts;
  /**
   * Undefined: a key from this address is to be looked at. A number: the address is in a pause, so its keys are refused without being looked
   * at, a valid one too; whole seconds until the pause is over. What is refused in a pause is not counted, so it does not prolong it.
   */
  pause(address: string | undefined, nowMs: number): number | undefined;
  /** Records that a key from this address was looked at and is wrong. The twentieth within a minute begins a pause. */
  fail(address: string | undefined, nowMs: number): void;
}

/** The failures of an address. */
interface Attempts {
  /** The times of the failures since the last pause, oldest first. */
  moments: number[];
  /** How many pauses followed each other. */
  pauses: number;
  pausedUntilMs: number;
}

/** An empty record of failures. */
export function createFailedLogins(): FailedLogins {
  let young = new Map<string, Attempts>();
  let old = new Map<string, Attempts>();
  const counts = {
    missing: 0,
    malformed: 0,
    ambiguous: 0,
    unknown: 0,
    revoked: 0,
    expired: 0,
    unavailable: 0,
    denied: 0,
    paused: 0,
  } satisfies LoginFailureCounts;

  const keep = (block: string, attempts: Attempts): Attempts => {
    if (young.get(block) === attempts) return attempts;
    if (young.size === mostAddresses) [old, young] = [young, new Map()];
    young.set(block, attempts);
    return attempts;
  };
  const known = (block: string): Attempts | undefined => young.get(block) ?? old.get(block);
  return {
    note(reason) {
      counts[reason] += 1;
    },
    counts: () => counts,
    pause(address, nowMs) {
      const block = addressBlock(address ?? '');
      const attempts = known(block);
      if (attempts === undefined || attempts.pausedUntilMs <= nowMs) return undefined;
      keep(block, attempts);
      return Math.ceil((attempts.pausedUntilMs - nowMs) / 1000);
    },
    fail(address, nowMs) {
      const block = addressBlock(address ?? '');
      const begun = { moments: [], pauses: 0, pausedUntilMs: Number.NEGATIVE_INFINITY };
      const attempts = keep(block, known(block) ?? begun);
      if (attempts.pausedUntilMs > nowMs) return;
      if (attempts.pausedUntilMs + forgivenAfterMs <= nowMs) attempts.pauses = 0;
      attempts.moments = [...attempts.moments.filter((moment) => moment + windowMs > nowMs), nowMs];
      if (attempts.moments.length < mostFailures) return;
      attempts.pausedUntilMs = nowMs + Math.min(firstPauseMs * 2 ** attempts.pauses, longestPauseMs);
      attempts.pauses += 1;
      attempts.moments = [];
    },
  };
}

/**
 * The address block that counts as one client: an IPv4 address (also one written within IPv6), or the /64 of an IPv6 address, because
 * one customer usually has a /64. Other text stays unchanged.
 */
export function addressBlock(address: string): string {
  const [bare = ''] = address.split('%');
  if (!bare.includes(':')) return bare;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = bare.split('::');
  const left = groupsOf(head);
  const right = groupsOf(tail ?? '');
  const gap = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array.from({ length: gap }, () => '0'), ...right];
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** Groups without leading zeros; a dotted quad at the end fills two. */
function groupsOf(text: string): string[] {
  if (text === '') return [];
  return text
    .split(':')
    .flatMap((group) => (group.includes('.') ? ['0', '0'] : [group.replace(/^0+(?=.)/, '').toLowerCase()]));
}
