// What holds the event loops of both planes up under load: long slices of work, by where they began, and pauses of the garbage collector.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { shortSlice, warmUp } from './contest.ts';
import type { Options } from './options.ts';
import { MASTER_KEY, NODE_FLAGS, ROOT, type Running, start, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';
import { quantile } from './statistics.ts';
import { renderTable } from './table.ts';

/** A callback that held the event loop long. */
export interface LongSlice {
  /** Milliseconds since the start of the process. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Where the timer stands that it began with, else the kind of resource. */
  readonly origin: string;
}

/** A pause of the garbage collector. */
export interface Pause {
  readonly fromMs: number;
  readonly ms: number;
  /** One of `NODE_PERFORMANCE_GC_*`. */
  readonly kind: number;
}

export interface ProbeReport {
  /** When the process began. Unix milliseconds. */
  readonly timeOrigin: number;
  readonly slices: readonly LongSlice[];
  readonly pauses: readonly Pause[];
}

/** A slice without the collector may take that long. Milliseconds. */
const MOST_MS = 2;
const PROBE = pathToFileURL(join(import.meta.dirname, 'slices-probe.ts')).href;
const SECONDS = 20;
const DRAIN_MS = 2_000;

type Planes = Readonly<Record<'proxy' | 'control plane', ProbeReport>>;

/** Loads a proxy, whose records a control plane drains, and reads what held both up. */
export async function measureSlices(session: Session, { workloads }: Pick<Options, 'workloads'>): Promise<Planes> {
  const { folder, upstream, core, client } = session;
  const fileOf = (plane: string): string => join(folder, `${plane}.json`);
  const probed = (flags: readonly string[]): string[] => [...flags, '--import', PROBE];
  const proxy = await startGateway(upstream.url, join(folder, 'slices'), {
    core,
    recording: 'on',
    nodeFlags: probed(NODE_FLAGS),
    env: { SLICES_FILE: fileOf('proxy') },
  });
  const controlPlane = await startControlPlane(join(folder, 'slices'), probed([]), fileOf('control-plane'));
  for (const workload of workloads) await warmUp(client, proxy, workload);
  const loadedMs = Date.now();
  for (const workload of workloads) {
    progress(`${workload}: under load`);
    await client.run({ ...shortSlice(workload), url: proxy.url, seconds: SECONDS });
  }
  await pause(DRAIN_MS);
  await client.close(proxy.url);
  await proxy.stop();
  await controlPlane.stop();
  progress('');
  const since = (plane: string): ProbeReport => readReport(fileOf(plane), loadedMs);
  return { proxy: since('proxy'), 'control plane': since('control-plane') };
}

function startControlPlane(folder: string, nodeFlags: readonly string[], file: string): Promise<Running> {
  return start({
    name: 'control plane',
    entry: 'control-plane/main.ts',
    nodeFlags,
    env: {
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_CONFIG: join(folder, 'config'),
      GATEWAY_DATA: join(folder, 'data'),
      GATEWAY_MASTER_KEY: MASTER_KEY,
      NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compile-cache'),
      SLICES_FILE: file,
    },
  });
}

/** What was noted since a moment (Unix milliseconds). */
function readReport(file: string, sinceMs: number): ProbeReport {
  const { timeOrigin, slices, pauses }: ProbeReport = JSON.parse(readFileSync(file, 'utf8'));
  const isLater = ({ fromMs }: { readonly fromMs: number }): boolean => timeOrigin + fromMs >= sinceMs;
  return { timeOrigin, slices: slices.filter(isLater), pauses: pauses.filter(isLater) };
}

/** The tables a person reads. */
export function renderSlices(planes: Planes): string {
  return Object.entries(planes)
    .map(([plane, report]) => `${plane}\n${renderOrigins(report)}\n\n${renderPauses(report)}`)
    .join('\n\n');
}

function renderOrigins({ slices, pauses }: ProbeReport): string {
  const own = slices.map((slice) => ({ ...slice, ownMs: slice.toMs - slice.fromMs - pausedMs(slice, pauses) }));
  const long = Map.groupBy(
    own.filter(({ ownMs }) => ownMs > MOST_MS),
    ({ origin }) => origin,
  );
  if (long.size === 0) return `  no slice took more than ${MOST_MS} ms of work`;
  const rows = [...long]
    .map(([origin, all]) => ({ origin, count: all.length, most: Math.max(...all.map(({ ownMs }) => ownMs)) }))
    .toSorted((one, other) => other.most - one.most)
    .map(({ origin, count, most }) => [origin, '', String(count), most.toFixed(1)]);
  return renderTable([['work that began with', '', `above ${MOST_MS} ms`, 'longest ms'], ...rows]);
}

function renderPauses({ pauses }: ProbeReport): string {
  const kinds = {
    'young objects': constants.NODE_PERFORMANCE_GC_MINOR,
    'all objects': constants.NODE_PERFORMANCE_GC_MAJOR,
    'steps of marking': constants.NODE_PERFORMANCE_GC_INCREMENTAL,
    'weak callbacks': constants.NODE_PERFORMANCE_GC_WEAKCB,
  };
  const rows = Object.entries(kinds).map(([name, kind]) => {
    const ms = pauses.filter((each) => each.kind === kind).map((each) => each.ms);
    const shares = ms.length === 0 ? ['', '', ''] : [0.5, 0.99, 1].map((share) => quantile(ms, share).toFixed(2));
    return [name, '', String(ms.length), ...shares];
  });
  return renderTable([['collector', '', 'pauses', 'p50 ms', 'p99 ms', 'longest ms'], ...rows]);
}

/** How long the collector worked within a slice. Milliseconds. */
function pausedMs({ fromMs, toMs }: LongSlice, pauses: readonly Pause[]): number {
  return pauses.reduce((sum, each) => {
    const within = Math.min(toMs, each.fromMs + each.ms) - Math.max(fromMs, each.fromMs);
    return sum + Math.max(0, within);
  }, 0);
}
