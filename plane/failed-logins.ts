// Counts failed logins by reason, and limits them per minute and client address, so that keys cannot be guessed. A valid key is never refused.
import type { LoginFailure } from '../schemas/keys/credentials.ts';

/** Failures of an address per minute that are answered with 401; later ones are answered with 429. */
const mostFailures = 20;
const windowMs = 60_000;
/** Addresses in one generation. Two generations are kept; an address that fails again moves to the younger one. */
const mostAddresses = 5_000;

/** How often a key was refused for each reason. */
export type LoginFailureCounts = Readonly<Record<LoginFailure, number>>;

/** The recent failures by address. Memory is bounded: about 4 MB when full. */
export interface FailedLogins {
  /** Counts a refused request, for the metrics alone. */
  note(reason: LoginFailure): void;
  counts(): LoginFailureCounts;
  /**
   * Records a failed attempt. Undefined: answer that the key is wrong. A number: there were too many failures; whole seconds until the
   * next failure is answered with 401 again. Attempts over the limit are not counted, so they do not lengthen the wait.
   */
  fail(address: string | undefined, nowMs: number): number | undefined;
}

/** An empty record of failures. */
export function createFailedLogins(): FailedLogins {
  /** The times of the last failures, oldest first. */
  let young = new Map<string, number[]>();
  let old = new Map<string, number[]>();
  const counts = {
    missing: 0,
    malformed: 0,
    ambiguous: 0,
    unknown: 0,
    revoked: 0,
    expired: 0,
    unavailable: 0,
    denied: 0,
  } satisfies LoginFailureCounts;

  const momentsOf = (block: string): number[] => {
    const known = young.get(block) ?? old.get(block) ?? [];
    if (!young.has(block)) {
      if (young.size === mostAddresses) [old, young] = [young, new Map()];
      young.set(block, known);
    }
    return known;
  };
  return {
    note(reason) {
      counts[reason] += 1;
    },
    counts: () => counts,
    fail(address, nowMs) {
      const moments = momentsOf(addressBlock(address ?? ''));
      while ((moments[0] ?? nowMs) + windowMs <= nowMs) moments.shift();
      const [oldest] = moments;
      if (oldest !== undefined && moments.length >= mostFailures) return Math.ceil((oldest + windowMs - nowMs) / 1000);
      moments.push(nowMs);
      return undefined;
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
