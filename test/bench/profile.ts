// Says where the CPU time of a process goes, by function and by room, from V8's own sampling profile.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { measureSlice } from './contest.ts';
import type { LoadClient } from './load.ts';
import type { Running } from './processes.ts';
import { renderTable } from './table.ts';
import type { Workload } from './workload.ts';

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

/** Self time in microseconds per request: by function and by room. */
export interface Costs {
  file: string;
  functions: Map<string, number>;
  rooms: Map<string, number>;
}

const ROOT = join(import.meta.dirname, '..', '..');
const WARM_SECONDS = 2;
const LOAD_SECONDS = 4;
const CONNECTIONS = 50;

/** Starts a process with `--cpu-prof`, loads it, stops it and reads its profile; start and warm-up are cut away. */
export async function profileUnderLoad(
  launch: (nodeFlags: string[]) => Promise<Running>,
  { client, workload }: { client: LoadClient; workload: Workload },
  folder: string,
): Promise<Costs> {
  mkdirSync(folder, { recursive: true });
  const startMs = performance.now();
  const running = await launch(['--cpu-prof', `--cpu-prof-dir=${folder}`]);
  const slice = { workload, connections: CONNECTIONS };
  await measureSlice(client, running, { ...slice, seconds: WARM_SECONDS });
  const skipUs = (performance.now() - startMs) * 1000;
  const { cpuUs: cpuUsPerRequest } = await measureSlice(client, running, { ...slice, seconds: LOAD_SECONDS });
  await client.close(running.url);
  await running.stop();
  const name = readdirSync(folder).find((file) => file.endsWith('.cpuprofile'));
  if (name === undefined) throw new Error(`${running.name} wrote no profile: it must end by itself on SIGTERM`);
  const file = join(folder, name);
  return readCosts(file, skipUs, cpuUsPerRequest);
}

/** The dearest functions of one profile. */
export function renderFunctions(costs: Costs, count: number): string {
  const total = sum(costs.functions);
  const rows = sorted(costs.functions)
    .slice(0, count)
    .map(([name, us]) => [name, '', us.toFixed(2), `${((us / total) * 100).toFixed(1)} %`]);
  return `${renderTable([['function (self time)', '', 'µs/req', 'share'], ...rows])}\n  profile: ${costs.file}`;
}

/** Two profiles room by room, and what the first costs more. */
export function renderRooms(gateway: Costs, bare: Costs): string {
  const names = new Set([...gateway.rooms.keys(), ...bare.rooms.keys()]);
  const rows = [...names]
    .map((name) => ({ name, ours: gateway.rooms.get(name) ?? 0, theirs: bare.rooms.get(name) ?? 0 }))
    .toSorted((a, b) => b.ours - b.theirs - (a.ours - a.theirs))
    .map(({ name, ours, theirs }) => [name, '', ours.toFixed(2), theirs.toFixed(2), (ours - theirs).toFixed(2)]);
  const totals = [sum(gateway.rooms), sum(bare.rooms)] as const;
  rows.push(['total', '', totals[0].toFixed(2), totals[1].toFixed(2), (totals[0] - totals[1]).toFixed(2)]);
  return renderTable([['room (self time, µs/req)', '', 'gateway', 'bare', 'more'], ...rows]);
}

function readCosts(file: string, skipUs: number, cpuUsPerRequest: number): Costs {
  const profile: CpuProfile = JSON.parse(readFileSync(file, 'utf8'));
  const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const functions = new Map<string, number>();
  const rooms = new Map<string, number>();
  let elapsedUs = 0;
  profile.samples.forEach((id, index) => {
    const us = profile.timeDeltas[index] ?? 0;
    elapsedUs += us;
    const frame = frames.get(id);
    if (elapsedUs < skipUs || frame === undefined || frame.functionName === '(idle)') return;
    const place = frame.url === '' ? '' : ` ${shortPath(frame.url)}:${frame.lineNumber + 1}`;
    add(functions, `${frame.functionName || '(anonymous)'}${place}`, us);
    add(rooms, roomOf(frame.functionName, frame.url), us);
  });
  const scale = cpuUsPerRequest / sum(functions);
  for (const costs of [functions, rooms]) for (const [name, us] of costs) costs.set(name, us * scale);
  return { file, functions, rooms };
}

function roomOf(name: string, url: string): string {
  if (name === '(garbage collector)') return 'garbage collector';
  if (url === '') return 'native code (system calls included)';
  if (url.startsWith('node:')) return url.split('/').slice(0, 2).join('/');
  const path = shortPath(url);
  return path.startsWith('node_modules/') ? path.split('/').slice(1, 2).join('/') : path;
}

function shortPath(url: string): string {
  // Installed packages may lie elsewhere, behind a link.
  const packages = url.lastIndexOf('node_modules/');
  return packages < 0 ? url.replace('file://', '').replace(`${ROOT}/`, '') : url.slice(packages);
}

function sorted(costs: Map<string, number>): [string, number][] {
  return [...costs].toSorted((a, b) => b[1] - a[1]);
}

function sum(costs: Map<string, number>): number {
  return [...costs.values()].reduce((total, us) => total + us, 0);
}

function add(costs: Map<string, number>, name: string, us: number): void {
  costs.set(name, (costs.get(name) ?? 0) + us);
}
