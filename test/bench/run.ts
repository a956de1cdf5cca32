// `npm run bench`: measures provider, bare pass-through and gateway in turn and prints one table.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { compareWith, renderComparison } from './compare.ts';
import { measureSlice, turned } from './contest.ts';
import { cpuTicksMs } from './cpu-time.ts';
import { LIMITER_TARGETS, measureLimiter, renderLimiter } from './limiter.ts';
import { startClient } from './load.ts';
import { memoryMiB } from './measure.ts';
import {
  canPin,
  MASTER_KEY,
  NODE_FLAGS,
  type Running,
  startBare,
  startGateway,
  startUpstream,
  stopAll,
} from './processes.ts';
import { profileUnderLoad, renderFunctions, renderRooms } from './profile.ts';
import { cpuRatios, type Findings, renderReport, VARIANTS, type Variant } from './report.ts';
import type { Slice } from './slice.ts';
import { openTree, type Tree } from './tree.ts';
import { INSTANT_EVENTS, requestBody, type Workload } from './workload.ts';

const USAGE = `usage: npm run bench -- [options]
  --quick              about 30 s: 50 connections only, 2 rounds of 1 s
  --rounds N           rounds per variant (default 3; with --quick 2)
  --only WHAT          json, sse, start or limiter; with --compare any of json, sse, burst, paced, with commas
  --variants A,B       of direct, bare, unlimited (limits switched off), gateway (default all)
  --json FILE          write every sample to FILE
  --compare COMMIT     no table: CPU per request of this gateway and of that commit's, side by side (or of a folder)
  --profile            no table: where the CPU time of gateway and bare goes, function by function`;

const PACED_STREAMS = 100;
const PACED_ROUND_SECONDS = 0.5;
const TEST_CORE = canPin ? 0 : undefined;
const TOOL_CORE = canPin ? 1 : undefined;

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    only: { type: 'string' },
    variants: { type: 'string', default: VARIANTS.join(',') },
    json: { type: 'string' },
    profile: { type: 'boolean', default: false },
    compare: { type: 'string' },
    pairs: { type: 'string', default: '12' },
    launches: { type: 'string', default: '3' },
    help: { type: 'boolean', default: false },
  },
});

const rounds = Number(values.rounds ?? (values.quick ? 2 : 3));
const names = values.variants.split(',');
const variants = VARIANTS.filter((name) => names.includes(name));
const only = values.only ?? 'all';
if (
  values.help ||
  variants.length !== names.length ||
  !(rounds >= 1) ||
  (values.compare === undefined && !['all', 'json', 'sse', 'start', 'limiter'].includes(only))
) {
  process.stderr.write(`${USAGE}\n`);
  process.exit(values.help ? 0 : 2);
}
if (!existsSync('/proc/self/stat')) {
  process.stderr.write('the bench reads CPU time from /proc: run it on Linux\n');
  process.exit(2);
}

const seconds = values.quick ? 1 : 2;
const concurrencies = values.quick ? [50] : [10, 50, 200];
const starts = values.quick ? 3 : 5;
const client = startClient(TOOL_CORE);
let tree: Tree | undefined;
const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
const running: Partial<Record<Variant, Running>> = {};
const findings: Findings = { samples: [], footprints: {}, startsMs: {} };
const beganMs = performance.now();

process.on('SIGINT', () => void end().finally(() => process.exit(130)));
try {
  const upstream = await startUpstream(TOOL_CORE);
  running.direct = upstream;
  say(`${describeMachine()}\n`);
  if (values.compare !== undefined) await compareAll(upstream, values.compare);
  else if (values.profile) await profileAll(upstream);
  else if (only !== 'limiter') await measureAll(upstream);
  if (!values.profile && values.compare === undefined && (only === 'all' || only === 'limiter')) sayLimiter();
} catch (error) {
  clearProgress();
  process.stderr.write(`the bench broke off: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await end();
  if (!values.profile) rmSync(folder, { recursive: true, force: true });
}

async function measureAll(upstream: Running): Promise<void> {
  if (only !== 'start') {
    if (variants.includes('bare')) running.bare = await startBare(upstream.url, TEST_CORE);
    if (variants.includes('gateway')) {
      running.gateway = await startGateway(upstream.url, join(folder, 'gateway'), { core: TEST_CORE });
    }
    if (variants.includes('unlimited') && only !== 'sse') {
      const off = { RATE_LIMITS_ENABLED: 'false' };
      running.unlimited = await startGateway(upstream.url, join(folder, 'unlimited'), { core: TEST_CORE, env: off });
    }
    await checkAnswers();
    await readIdle();
    if (only !== 'sse') await measureClosedLoop('json', concurrencies);
    await running.unlimited?.stop();
    delete running.unlimited;
    if (only !== 'json') {
      await measureClosedLoop('sse', concurrencies);
      if (!values.quick) await measureClosedLoop('burst', [50]);
      await measurePaced();
    }
    readPeaks();
  }
  if (only === 'all' || only === 'start') await measureStarts(upstream);
  clearProgress();
  say(`${renderReport(findings)}\n`);
  say(`\ntook ${((performance.now() - beganMs) / 1000).toFixed(0)} s; ${rounds} rounds of ${seconds} s per cell.`);
  say('CPU columns: least of the rounds (median of the rounds).\n');
  if (values.json !== undefined) {
    const record = { machine: describeMachine(), rounds, seconds, ratios: cpuRatios(findings.samples), ...findings };
    writeFileSync(values.json, `${JSON.stringify(record, null, 2)}\n`);
  }
}

// Every variant must give the same answer, else there is nothing to compare.
async function checkAnswers(): Promise<void> {
  const answers = new Map<Workload, string>();
  for (const [variant, { url }] of present()) {
    for (const workload of ['json', 'sse', 'burst'] as const) {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${MASTER_KEY}` },
        body: requestBody(workload),
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${variant} answered ${response.status}: ${text}`);
      // Usage was asked for by the gateway alone: the provider marks every event with it.
      const answer = text.replaceAll(',"usage":null', '');
      const events = answer.split('data: ').length - 1;
      if (workload !== 'json' && events !== INSTANT_EVENTS) throw new Error(`${variant} sent ${events} events`);
      if (answer !== (answers.get(workload) ?? answer)) throw new Error(`${variant} changed the ${workload} answer`);
      answers.set(workload, answer);
    }
  }
}

async function readIdle(): Promise<void> {
  const before = present().map(([, process]) => cpuTicksMs(process.pid));
  await pause(1500);
  present().forEach(([variant, process], index) => {
    const idleCores = (cpuTicksMs(process.pid) - (before[index] ?? 0)) / 1500;
    const { now, peak } = memoryMiB(process.pid);
    findings.footprints[variant] = { idleMiB: now, loadedMiB: now, peakMiB: peak, idleCores };
  });
}

async function measureClosedLoop(workload: Workload, connectionCounts: number[]): Promise<void> {
  for (const [variant, server] of inTurn(0)) {
    progress(`${workload}: warming up ${variant}`);
    await measureSlice(client, server, { workload, connections: 50, seconds: variant === 'direct' ? 1 : 2 });
  }
  for (const connections of connectionCounts) {
    for (let round = 0; round < rounds; round += 1) {
      for (const [variant] of inTurn(round)) {
        progress(`${workload} c=${connections} round ${round + 1} ${variant}`);
        await sample(variant, { workload, connections, seconds }, round);
      }
    }
  }
}

async function measurePaced(): Promise<void> {
  const paced = { workload: 'paced', connections: PACED_STREAMS, seconds: 60 } as const;
  for (const [, server] of inTurn(0)) await measureSlice(client, server, { ...paced, requests: PACED_STREAMS });
  const requests = PACED_STREAMS * Math.round(seconds / PACED_ROUND_SECONDS);
  for (let round = 0; round < rounds; round += 1) {
    for (const [variant] of inTurn(round)) {
      progress(`paced round ${round + 1} ${variant}`);
      await sample(variant, { ...paced, requests }, round);
    }
  }
}

async function sample(variant: Variant, slice: Omit<Slice, 'url'>, round: number): Promise<void> {
  const server = running[variant];
  const upstream = running.direct;
  if (server === undefined || upstream === undefined) return;
  const { load, ...cost } = await measureSlice(client, server, slice, [upstream]);
  const { workload, connections } = slice;
  const { requests, failures } = load;
  const isPaced = workload === 'paced';
  const [p50Ms, p99Ms] = isPaced ? [load.firstP50Ms, load.firstP99Ms] : [load.p50Ms, load.p99Ms];
  findings.samples.push({
    variant,
    workload,
    connections,
    round,
    requests,
    failures,
    p50Ms,
    p99Ms,
    requestsPerSecond: requests / load.seconds,
    cpuUs: cost.cpuUs,
    generatorCores: cost.clientCores,
    upstreamCores: cost.otherCores[0] ?? 0,
    foreignCores: cost.foreignCores,
  });
  const footprint = findings.footprints[variant];
  if (footprint !== undefined) footprint.loadedMiB = Math.max(footprint.loadedMiB, memoryMiB(server.pid).now);
}

async function compareAll(upstream: Running, commit: string): Promise<void> {
  const workloads = only === 'all' ? (['json', 'sse', 'burst', 'paced'] as const) : (only.split(',') as Workload[]);
  tree = openTree(commit);
  const { pairs, launches } = values;
  const counts = { pairs: Number(pairs), launches: Number(launches) };
  const found = await compareWith(tree, { client, upstream, core: TEST_CORE, workloads, ...counts, progress });
  clearProgress();
  say(renderComparison(tree, found));
}

function readPeaks(): void {
  for (const [variant, process] of present()) {
    const footprint = findings.footprints[variant];
    if (footprint !== undefined) footprint.peakMiB = memoryMiB(process.pid).peak;
  }
}

function sayLimiter(): void {
  const costs = measureLimiter();
  const { admitNs, manyToFew } = LIMITER_TARGETS;
  say(
    `\n${renderLimiter(costs)}\ntargets: admission with 3 matching rules ≤ ${admitNs} ns, 10,000 rules ≤ ${manyToFew} × 10 rules`,
  );
}

// Not pinned: a start uses more than one core, and nothing else runs meanwhile.
async function measureStarts(upstream: Running): Promise<void> {
  for (let index = 0; index < starts; index += 1) {
    for (const variant of variants.filter((name) => name === 'bare' || name === 'gateway')) {
      progress(`start ${index + 1} ${variant}`);
      const data = join(folder, `start-${index}`);
      const spawnMs = performance.now();
      const process = await (variant === 'bare'
        ? startBare(upstream.url, undefined)
        : startGateway(upstream.url, data));
      await firstAnswer(process.url);
      const times = findings.startsMs[variant] ?? [];
      times.push(performance.now() - spawnMs);
      findings.startsMs[variant] = times;
      await process.stop();
    }
  }
}

async function firstAnswer(url: string): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt += 1) {
    const status = await new Promise<number>((resolve) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${MASTER_KEY}` };
      const call = request(`${url}/v1/chat/completions`, { method: 'POST', headers, agent: false }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      call.on('error', () => resolve(0));
      call.end(requestBody('json'));
    });
    if (status === 200) return;
    await pause(1);
  }
  throw new Error(`${url} gave no 200`);
}

async function profileAll(upstream: Running): Promise<void> {
  for (const workload of ['json', 'sse'] as const) {
    const at = (name: string): string => join(folder, `${name}-${workload}`);
    progress(`${workload}: profiling`);
    const launchBare = (flags: string[]): Promise<Running> =>
      startBare(upstream.url, TEST_CORE, [...NODE_FLAGS, ...flags]);
    const bare = await profileUnderLoad(launchBare, { workload, client }, at('bare'));
    const launch = (nodeFlags: string[]): Promise<Running> =>
      startGateway(upstream.url, at('gateway'), { core: TEST_CORE, nodeFlags: [...NODE_FLAGS, ...nodeFlags] });
    const profiles = join(at('gateway'), 'profile');
    // Without a gateway (--variants direct,bare) the bare pass-through is shown against itself.
    const gateway = variants.includes('gateway')
      ? await profileUnderLoad(launch, { workload, client }, profiles)
      : bare;
    clearProgress();
    say(`${workload}, 50 connections, profiler on (absolute figures are higher than without)\n`);
    say(`${renderRooms(gateway, bare)}\n\n${renderFunctions(gateway, 25)}\n`);
  }
}

function present(): [Variant, Running][] {
  const all: [Variant, Running][] = [];
  for (const variant of VARIANTS) {
    const process = running[variant];
    if (process !== undefined) all.push([variant, process]);
  }
  return all;
}

// The order turns with every round, so that no variant always comes first.
function inTurn(round: number): [Variant, Running][] {
  const all = present().filter(([variant]) => variants.includes(variant));
  return turned(all, round);
}

function describeMachine(): string {
  const pinned = canPin ? 'process under test on core 0, tools on core 1' : 'not pinned (taskset missing)';
  return `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? 'CPU'}, ${pinned}`;
}

async function end(): Promise<void> {
  await client.stop();
  await stopAll();
  tree?.remove();
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text.padEnd(60)}`);
}

function clearProgress(): void {
  progress('');
  if (process.stderr.isTTY) process.stderr.write('\r');
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
