// The table of `npm run bench`: every variant is loaded in short slices, in turns, cell after cell.
import { join } from 'node:path';
import { measureSlice, turned, warmUp } from './contest.ts';
import { type Cell, cellOf, type Findings, nameOf, VARIANTS, type Variant } from './findings.ts';
import { measureStreams, readIdle } from './footprint.ts';
import { type CountInstructions, probeInstructions } from './instructions.ts';
import { memoryOf } from './measure.ts';
import { findPeer, headersOf, type Peer } from './peer.ts';
import { MASTER_KEY, type Running, startBare, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';
import { measureStarts } from './starts.ts';
import { expectedEvents, requestBody, type Workload } from './workload.ts';

/** The parts of a run. */
export const PARTS = ['json', 'sse', 'held', 'start'] as const;
/** One of `PARTS`. */
export type Part = (typeof PARTS)[number];

/** How long, and what of it. */
export interface Extent {
  readonly quick: boolean;
  /** Slices per cell and variant. */
  readonly rounds: number;
  readonly variants: readonly Variant[];
  readonly parts: readonly Part[];
}

interface Plan extends Cell {
  readonly part: Part;
  readonly variants: readonly Variant[];
  /** Instead of `variants` in a quick run. */
  readonly quickVariants?: readonly Variant[];
  /** Left out of a quick run. */
  readonly isLong?: boolean;
}

/** Seconds of one slice. Streams of the paced workload take half a second each, whatever this says. */
export const SLICE_SECONDS = 0.2;
/** Beside a peer, which may take longer than the other slices for the first of its answers. */
const PEER_SLICE_SECONDS = 3;
const QUICK_WARM_SHARE = 0.3;
/** The workloads whose answers are looked at first, and those of them that ask for one model. */
const CHECKED = ['json', 'json-64k', 'sse', 'burst', 'quarters'] as const;
const ONE_MODEL = ['json', 'json-64k', 'sse'] as const;
const PACED_STREAMS = 100;
const CORE: readonly Variant[] = ['direct', 'bare', 'gateway'];
/** A peer has to know one model only. */
const WITH_PEER: readonly Variant[] = ['direct', 'bare', 'peer', 'gateway'];
const PLANS: readonly Plan[] = [
  {
    part: 'json',
    workload: 'json',
    connections: 50,
    variants: VARIANTS,
    quickVariants: [...WITH_PEER, 'unlimited', 'unmetered', 'logged'],
  },
  { part: 'json', workload: 'json', connections: 10, variants: WITH_PEER },
  { part: 'json', workload: 'json', connections: 200, variants: WITH_PEER, isLong: true },
  // Not every peer can answer as many.
  { part: 'json', workload: 'json', connections: 50, rate: 2000, variants: CORE, isLong: true },
  { part: 'json', workload: 'json-1k', connections: 50, variants: WITH_PEER, isLong: true },
  { part: 'json', workload: 'json-8k', connections: 50, variants: WITH_PEER, isLong: true },
  { part: 'json', workload: 'json-64k', connections: 50, variants: WITH_PEER, isLong: true },
  { part: 'sse', workload: 'sse', connections: 50, variants: WITH_PEER },
  { part: 'sse', workload: 'sse', connections: 10, variants: WITH_PEER, isLong: true },
  { part: 'sse', workload: 'burst', connections: 50, variants: CORE },
  { part: 'sse', workload: 'quarters', connections: 50, variants: CORE, isLong: true },
  { part: 'sse', workload: 'paced', connections: PACED_STREAMS, variants: CORE },
];

/** Measures all that was asked for. */
export async function measureAll(session: Session, extent: Extent): Promise<Findings> {
  const findings: Findings = { samples: [], footprints: {}, streams: [], starts: [] };
  const plans = plansOf(extent);
  if (plans.length > 0) await measureCells(session, extent, { plans, findings });
  if (extent.parts.includes('held')) {
    findings.streams.push(...(await measureStreams(session, extent.quick ? [1000] : [1000, 5000])));
  }
  if (extent.parts.includes('start')) findings.starts.push(...(await measureStarts(session, extent.quick ? 2 : 5)));
  progress('');
  return findings;
}

function plansOf({ parts, quick }: Extent): Plan[] {
  const wanted = PLANS.filter(({ part }) => parts.includes(part));
  if (!quick) return wanted;
  return wanted
    .filter(({ isLong }) => isLong !== true)
    .map((plan) => ({ ...plan, variants: plan.quickVariants ?? plan.variants }));
}

async function measureCells(
  session: Session,
  extent: Extent,
  { plans, findings }: { plans: readonly Plan[]; findings: Findings },
): Promise<void> {
  const wanted = new Set(plans.flatMap(({ variants }) => variants));
  const servers = await startServers(
    session,
    extent.variants.filter((variant) => wanted.has(variant)),
  );
  await checkAnswers(servers, session.peer, new Set(plans.map(({ workload }) => workload)));
  const idle = await readIdle([...servers.values()]);
  [...servers.keys()].forEach((variant, index) => {
    const footprint = idle[index];
    if (footprint !== undefined) findings.footprints[variant] = footprint;
  });
  const { count, why } = await probeInstructions();
  if (why !== undefined) findings.instructionsMissing = why;
  const warmed = new Set<Workload>();
  for (const plan of plans) {
    const present = [...servers].filter(([variant]) => plan.variants.includes(variant));
    for (const [variant, server] of warmed.has(plan.workload) ? [] : present) {
      progress(`${plan.workload}: warming up ${variant}`);
      await warmUp(session.client, server, plan.workload, extent.quick ? QUICK_WARM_SHARE : 1);
    }
    warmed.add(plan.workload);
    const seconds = servers.has('peer') ? PEER_SLICE_SECONDS : SLICE_SECONDS;
    for (let round = 0; round < roundsOf(plan, extent); round += 1) {
      progress(`${nameOf(plan)}, round ${round + 1}`);
      for (const [variant, server] of turned(present, round)) {
        const sample = await measureSample(session, { variant, server }, { plan, round, count, seconds });
        findings.samples.push(sample);
        note(findings, { variant, server }, plan);
      }
    }
  }
  for (const [variant, server] of servers) {
    const footprint = findings.footprints[variant];
    if (footprint !== undefined) footprint.peakMiB = memoryOf(server).peak;
  }
  await stopServers(session, servers);
}

async function startServers(
  { upstream, core, folder, peer }: Session,
  variants: readonly Variant[],
): Promise<Map<Variant, Running>> {
  const gateway = (variant: Variant, options = {}): Promise<Running> =>
    startGateway(upstream.url, join(folder, variant), { core, ...options });
  const launches: Record<Variant, () => Promise<Running>> = {
    direct: () => Promise.resolve(upstream),
    bare: () => startBare(upstream.url, core),
    'bare-default': () => startBare(upstream.url, core, []),
    unlimited: () => gateway('unlimited', { env: { RATE_LIMITS_ENABLED: 'false' } }),
    unmetered: () => gateway('unmetered', { env: { USAGE_ENABLED: 'false' } }),
    logged: () => gateway('logged', { isLogged: true }),
    peer: () => {
      if (peer === undefined) throw new Error('the variant peer needs --peer URL');
      return Promise.resolve(findPeer(peer, core));
    },
    'gateway-default': () => gateway('gateway-default', { nodeFlags: [] }),
    gateway: () => gateway('gateway'),
  };
  const servers = new Map<Variant, Running>();
  for (const variant of variants) servers.set(variant, await launches[variant]());
  return servers;
}

async function stopServers({ client, upstream }: Session, servers: ReadonlyMap<Variant, Running>): Promise<void> {
  for (const server of servers.values()) {
    await client.close(server.url);
    if (server !== upstream) await server.stop();
  }
}

// Every variant must give the same answer to what is measured, else there is nothing to compare. A peer may write it in its own way.
async function checkAnswers(
  servers: ReadonlyMap<Variant, Running>,
  peer: Peer | undefined,
  asked: ReadonlySet<Workload>,
): Promise<void> {
  const answers = new Map<Workload, string>();
  for (const [variant, { url }] of servers) {
    const checked = variant === 'peer' ? ONE_MODEL : CHECKED;
    for (const workload of checked.filter((each) => asked.has(each))) {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: [
          ['content-type', 'application/json'],
          ['authorization', `Bearer ${MASTER_KEY}`],
          ...(variant === 'peer' ? headersOf(peer) : []),
        ],
        body: requestBody(workload),
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${variant} answered ${response.status}: ${text}`);
      // Usage was asked for by the gateway alone: the provider marks every event with it.
      const answer = text.replaceAll(',"usage":null', '');
      const events = answer.split('data: ').length - 1;
      if (variant === 'peer') continue;
      if (events !== expectedEvents(workload)) throw new Error(`${variant} sent ${events} events`);
      if (answer !== (answers.get(workload) ?? answer)) throw new Error(`${variant} changed the ${workload} answer`);
      answers.set(workload, answer);
    }
  }
}

// A slice of the paced workload is longer than the others, and varies less.
function roundsOf({ workload }: Plan, { rounds }: Extent): number {
  return workload === 'paced' ? Math.ceil(rounds / 3) : rounds;
}

async function measureSample(
  { client, upstream }: Session,
  { variant, server }: { variant: Variant; server: Running },
  { plan, round, count, seconds }: { plan: Plan; round: number; count: CountInstructions | undefined; seconds: number },
): Promise<Findings['samples'][number]> {
  const isPaced = plan.workload === 'paced';
  const length = isPaced ? { seconds: 30, requests: PACED_STREAMS } : { seconds };
  const watch = { others: [upstream], count: variant === 'direct' ? undefined : count };
  const cost = await measureSlice(client, server, { ...cellOf(plan), ...length }, watch);
  const { load, instructions, otherCores, ...rest } = cost;
  // A hundred streams have no p99.9.
  const first = { p50Ms: load.firstP50Ms, p99Ms: load.firstP99Ms, p999Ms: Number.NaN };
  const { p50Ms, p99Ms, p999Ms } = isPaced ? first : load;
  return {
    ...cellOf(plan),
    ...rest,
    ...(instructions === undefined ? {} : { instructions }),
    variant,
    round,
    p50Ms,
    p99Ms,
    p999Ms,
    requests: load.requests,
    requestsPerSecond: load.requests / load.seconds,
    failures: load.failures,
    upstreamCores: otherCores[0] ?? 0,
  };
}

function note(findings: Findings, { variant, server }: { variant: Variant; server: Running }, plan: Plan): void {
  const footprint = findings.footprints[variant];
  if (footprint === undefined) return;
  const { now } = memoryOf(server);
  footprint.loadedMiB = Math.max(footprint.loadedMiB, now);
  if (plan.workload === 'json' && plan.connections === 50) footprint.jsonMiB = Math.max(footprint.jsonMiB, now);
}
