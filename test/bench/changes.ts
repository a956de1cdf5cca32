// What a change by an operator costs where there are many keys and rules: until it is answered, until it is in force at a proxy, and how long the
// event loops of both planes stood still for it.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { waitFor } from '../support/wait-for.ts';
import { type BothPlanes, startBothPlanes } from './both-planes.ts';
import { fillState, manualRule } from './filled-state.ts';
import type { Options } from './options.ts';
import { MASTER_KEY, NODE_FLAGS } from './processes.ts';
import { progress, type Session } from './session.ts';
import { median } from './statistics.ts';
import { renderTable } from './table.ts';
import { keySecret } from './workload.ts';

/** A turn of the event loop that took long. */
export interface LongTurn {
  /** When it ended. Unix milliseconds. */
  readonly atMs: number;
  readonly ms: number;
}

/** One change. Milliseconds. */
interface Change {
  readonly fromMs: number;
  readonly toMs: number;
  readonly answeredMs: number;
  /** Until a request meets it; absent where that is not looked at. */
  readonly inForceMs?: number;
}

export interface Changes {
  readonly what: string;
  readonly all: readonly Change[];
}

export interface ChangesCost {
  readonly keys: number;
  readonly rules: number;
  readonly changes: readonly Changes[];
  readonly turns: Readonly<Record<keyof BothPlanes, readonly LongTurn[]>>;
  /** How long 10,000 keys took that were issued by the hundred. Seconds. */
  readonly importSeconds: number;
}

/** Keys at first; with those that are issued no more than may be kept. */
const KEYS = 89_000;
const RULES = 10_000;
const IMPORTED = 10_000;
const BATCH = 100;
/** Goals: until it is answered, and in force, what a turn may take (milliseconds), and 10,000 keys (seconds). */
const MOST = { answeredMs: 50, inForceMs: 1_000, turnMs: 10, importSeconds: 20 };
/** Behind a change both planes write what they keep of it. Milliseconds. */
const QUIET_MS = 500;
const LOOK_MS = 2;
const IN_FORCE_DEADLINE_MS = 10_000;
const PROBE = pathToFileURL(join(import.meta.dirname, 'turns-probe.ts')).href;

/** Makes so many changes of each kind, one after the other, and then imports keys. */
export async function measureChanges(session: Session, { pairs }: Pick<Options, 'pairs'>): Promise<ChangesCost> {
  const folder = join(session.folder, 'changes');
  const data = join(folder, 'data');
  for (const path of [data, join(folder, 'config')]) mkdirSync(path, { recursive: true });
  progress('filling the state store');
  const keys = Array.from({ length: KEYS }, (_, index) => [keySecret(index), pathOf(index)] as const);
  const limits = { maxRequests: 1e6, mode: 'enforce', reason: 'bench' } as const;
  const rules = keys.slice(0, RULES).map(([, path]) => manualRule(path, limits));
  await fillState(data, { rules, keys: new Map(keys) });
  const fileOf = (plane: keyof BothPlanes): string => join(folder, `${plane}.json`);
  progress('starting');
  const planes = await startBothPlanes(session.upstream.url, folder, {
    nodeFlags: [...NODE_FLAGS, '--import', PROBE],
    controlPlaneFlags: ['--import', PROBE],
    env: { TURNS_FILE: fileOf('proxy') },
    controlPlaneEnv: { TURNS_FILE: fileOf('controlPlane') },
    maxKeys: KEYS + IMPORTED + pairs + 1,
  });
  // A first change of each kind is not counted.
  const many = async (what: string, change: (number: number) => Promise<Change>): Promise<Changes> => {
    const all: Change[] = [];
    for (let number = 0; number <= pairs; number += 1) {
      progress(`${what}: ${number} of ${pairs}`);
      all.push(await change(number));
      await pause(QUIET_MS);
    }
    return { what, all: all.slice(1) };
  };
  const changes = [
    await many('a key is issued', (number) => issue(planes, `/new/${number}`)),
    await many('a rule is added', (number) => putRule(planes, `/new/${number}`, 5)),
    await many('a rule is changed', (number) => putRule(planes, pathOf(number * 7), 7)),
  ];
  progress('importing keys');
  const beganMs = performance.now();
  for (let first = 0; first < IMPORTED; first += BATCH) await importKeys(planes, first);
  const importSeconds = (performance.now() - beganMs) / 1_000;
  await planes.proxy.stop();
  await planes.controlPlane.stop();
  progress('');
  const turnsOf = (plane: keyof BothPlanes): LongTurn[] => JSON.parse(readFileSync(fileOf(plane), 'utf8'));
  const turns = { proxy: turnsOf('proxy'), controlPlane: turnsOf('controlPlane') };
  return { keys: KEYS, rules: RULES, changes, turns, importSeconds };
}

function pathOf(index: number): string {
  return `/team-${index % 1000}/user-${index}`;
}

async function issue(planes: BothPlanes, userPath: string): Promise<Change> {
  const began = { fromMs: Date.now(), atMs: performance.now() };
  const { value } = (await ask(planes.controlPlane.url, 'POST', '/admin/auth-keys', {
    name: userPath,
    user_path: userPath,
  })) as { readonly value: string };
  const isLetIn = async (): Promise<boolean> => {
    await pause(LOOK_MS);
    return (await fetch(`${planes.proxy.url}/v1/models`, { headers: { authorization: `Bearer ${value}` } })).ok;
  };
  return inForce(began, isLetIn);
}

async function putRule(planes: BothPlanes, userPath: string, cap: number): Promise<Change> {
  const began = { fromMs: Date.now(), atMs: performance.now() };
  const rule = { user_path: userPath, limit_key: { period: 'minute' }, max_requests: cap };
  await ask(planes.controlPlane.url, 'PUT', '/admin/rate-limits', rule);
  const isEnforced = async (): Promise<boolean> => {
    await pause(LOOK_MS);
    const headers = { authorization: `Bearer ${MASTER_KEY}`, 'x-gateway-user-path': userPath };
    const response = await fetch(`${planes.proxy.url}/v1/usage`, { headers });
    const { rate_limits: rows } = (await response.json()) as { readonly rate_limits: readonly Row[] };
    return rows.some((row) => row.subject === userPath && row.max_requests === cap);
  };
  return inForce(began, isEnforced);
}

interface Row {
  readonly subject: string;
  readonly max_requests: number;
}

/** A change that was answered just now. */
async function inForce(
  { fromMs, atMs }: { readonly fromMs: number; readonly atMs: number },
  isInForce: () => Promise<boolean>,
): Promise<Change> {
  const answeredMs = performance.now() - atMs;
  await waitFor('the change to be in force', isInForce, IN_FORCE_DEADLINE_MS);
  return { fromMs, toMs: Date.now() + QUIET_MS, answeredMs, inForceMs: performance.now() - atMs };
}

async function importKeys({ controlPlane }: BothPlanes, first: number): Promise<void> {
  const keys = Array.from({ length: BATCH }, (_, index) => ({
    name: `import ${first + index}`,
    user_path: `/import/${first + index}`,
  }));
  await ask(controlPlane.url, 'POST', '/admin/auth-keys/batch', { keys });
}

async function ask(url: string, method: string, path: string, body: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${MASTER_KEY}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}

/** The table a person reads. */
export function renderChanges({ keys, rules, changes, turns, importSeconds }: ChangesCost): string {
  const rows = changes.map(({ what, all }) => {
    const answered = all.map(({ answeredMs }) => answeredMs);
    const met = all.flatMap(({ inForceMs }) => inForceMs ?? []);
    const longest = (plane: keyof BothPlanes): number[] => all.map((change) => longestTurn(turns[plane], change));
    const isMet =
      median(answered) <= MOST.answeredMs &&
      Math.max(...met) <= MOST.inForceMs &&
      Math.max(...longest('proxy'), ...longest('controlPlane')) <= MOST.turnMs;
    const both = (values: readonly number[]): string =>
      `${median(values).toFixed(1)} / ${Math.max(...values).toFixed(1)}`;
    return [
      what,
      isMet ? 'yes' : 'NO',
      both(answered),
      both(met),
      both(longest('controlPlane')),
      both(longest('proxy')),
    ];
  });
  const header = ['median / most, ms', 'met', 'answered', 'in force', 'turn, control plane', 'turn, proxy'];
  const { answeredMs, inForceMs, turnMs } = MOST;
  return [
    `${keys} keys and ${rules} rules`,
    renderTable([header, ...rows]),
    `  targets: answered (median) ≤ ${answeredMs}, in force ≤ ${inForceMs}, every turn ≤ ${turnMs}`,
    `  ${IMPORTED} keys by the hundred: ${importSeconds.toFixed(1)} s, target ≤ ${MOST.importSeconds}: ${importSeconds <= MOST.importSeconds ? 'yes' : 'NO'}`,
  ].join('\n');
}

/** The longest turn while a change was made; 0: none was long. */
function longestTurn(turns: readonly LongTurn[], { fromMs, toMs }: Change): number {
  return Math.max(0, ...turns.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs).map(({ ms }) => ms));
}
