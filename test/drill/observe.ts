// What a person on call can see of a fault: readiness, status, an explanation and the log, each without what changes all the time.
import { masterKey } from '../support/gateway.ts';
import type { World } from './world.ts';

/** What was seen at one moment. */
export interface Sight {
  /** `<plane>: <status>: <reasons>` of each process. */
  readonly readiness: readonly string[];
  /** Every member of /admin/status with its path. */
  readonly status: ReadonlyMap<string, string>;
  readonly explanation: readonly string[];
}

/** Members of the status that change without a cause. */
const VOLATILE = /(_at|_seconds|_bytes|revision|bytes|uptime|journal\.|pid)$|^server_time|held_since/;

export async function look({ fleet }: World): Promise<Sight> {
  const [proxy] = fleet.proxies;
  const places = [
    ['control plane', fleet.controlPlane.address] as const,
    ...fleet.proxies.map(({ url }, index) => [`proxy ${index + 1}`, url] as const),
  ];
  const readiness = await Promise.all(
    places.map(async ([name, origin]) => {
      const { status = 'no answer', reasons = [] } = (await read(`${origin}/health/ready`)) as Ready;
      return reasons.length === 0 ? `${name}: ${status}` : `${name}: ${status}: ${reasons.join(', ')}`;
    }),
  );
  const status = await read(`${fleet.controlPlane.address}/admin/status`);
  const explained = (await read(`${proxy?.url}/admin/explain?model=chat&user_path=/team-a`)) as Explained;
  return { readiness, status: new Map(flat(status)), explanation: sentencesOf(explained) };
}

interface Ready {
  readonly status?: string;
  readonly reasons?: readonly string[];
}

interface Explained {
  readonly outcome?: string;
  readonly refusal?: { readonly message: string };
  readonly targets?: readonly { readonly target: string; readonly says: string }[];
}

function sentencesOf({ outcome, refusal, targets = [] }: Explained): string[] {
  return [
    ...(outcome === undefined ? [] : [outcome]),
    ...(refusal === undefined ? [] : [refusal.message]),
    ...targets.map(({ target, says }) => `${target} ${says}`),
  ];
}

/** What the status says that it did not say before. */
export function newsOf(before: Sight, now: Sight): string[] {
  return [...now.status]
    .filter(([path, value]) => !VOLATILE.test(path) && before.status.get(path) !== value)
    .map(([path, value]) => `${path}: ${value}`);
}

/** The warnings and errors that a log has since then, each sentence once. */
export function complaintsOf({ fleet }: World, since: number): string[] {
  const processes = [
    ['control plane', fleet.controlPlane] as const,
    ...fleet.proxies.map(({ process: own }) => ['proxy', own] as const),
  ];
  const lines = processes.flatMap(([plane, own]) =>
    own
      .logs()
      .filter(({ time, level }) => timeOf(time) >= since && isComplaint(level))
      .map(({ msg }) => `${plane}: ${String(msg)}`),
  );
  return [...new Set(lines)];
}

function timeOf(time: unknown): number {
  return typeof time === 'number' ? time : Date.parse(String(time));
}

function isComplaint(level: unknown): boolean {
  return level === 'warn' || level === 'error' || (typeof level === 'number' && level >= 40);
}

function flat(value: unknown, path = ''): [string, string][] {
  if (value === null || typeof value !== 'object') return [[path, JSON.stringify(value)]];
  return Object.entries(value).flatMap(([name, each]) => flat(each, path === '' ? name : `${path}.${name}`));
}

async function read(url: string): Promise<unknown> {
  try {
    const headers = { authorization: `Bearer ${masterKey}` };
    return await (await fetch(url, { headers, signal: AbortSignal.timeout(3_000) })).json();
  } catch (error) {
    return { outcome: `no answer: ${(error as Error).message}` };
  }
}
