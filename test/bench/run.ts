// `npm run bench`: reads what was asked for, runs that mode and prints its tables.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measureCache, renderCache } from './cache.ts';
import { measureChanges, renderChanges } from './changes.ts';
import { compareTrees, renderComparison } from './compare.ts';
import { measureDashboard } from './dashboard.ts';
import { compareFlags } from './flags.ts';
import { measureFleet, renderFleet } from './fleet.ts';
import { measureAll, SLICE_SECONDS } from './full-run.ts';
import { figuresOf, record } from './history.ts';
import { LIMITER_TARGETS, measureLimiter, renderLimiter } from './limiter.ts';
import { measureManyKeys, renderManyKeys } from './many-keys.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { NODE_FLAGS, type Running, startBare, startGateway } from './processes.ts';
import { profileUnderLoad, renderFunctions, renderRooms } from './profile.ts';
import { measureRecords } from './records.ts';
import { measureRecordsCost, renderRecordsCost } from './records-cost.ts';
import { renderReport } from './report.ts';
import { describeMachine, openSession, progress, type Session, say } from './session.ts';
import { measureSlices, renderSlices } from './slices.ts';
import { measureSpread, renderSpread } from './spread.ts';
import { measureTranslation, renderTranslation } from './translation.ts';
import { openTree, ownTree } from './tree.ts';
import { measureWorkers, renderWorkers } from './workers.ts';

const ROUNDS = { table: 20, quick: 5, flags: 12 };

/** What each mode measures and prints. */
const MODES: Partial<Record<Options['mode'], (session: Session, options: Options) => Promise<unknown>>> = {
  compare,
  flags: tabulateFlags,
  profile,
  records: measureRecords,
  dashboard: measureDashboard,
  'records-cost': async (...given) => say(renderRecordsCost(await measureRecordsCost(...given))),
  translation: async (...given) => say(renderTranslation(await measureTranslation(...given))),
  workers: async (...given) => say(renderWorkers(await measureWorkers(...given))),
  fleet: async (...given) => say(renderFleet(await measureFleet(...given))),
  spread: async (...given) => say(renderSpread(await measureSpread(...given))),
  changes: async (...given) => say(renderChanges(await measureChanges(...given))),
  slices: async (...given) => say(renderSlices(await measureSlices(...given))),
  'many-keys': async (...given) => say(renderManyKeys(await measureManyKeys(...given))),
  cache: async (...given) => say(renderCache(await measureCache(...given))),
};

/** Modes that a whole run ends with, in short. */
const FURTHER = [
  { mode: 'translation', title: 'Translation, × the same answer relayed', pairs: 4, launches: 2 },
  { mode: 'many-keys', title: 'Many keys, × few', workloads: ['json'], pairs: 3, launches: 1 },
  { mode: 'spread', title: 'Launches of one build', workloads: ['json', 'sse'], pairs: 4, launches: 5 },
] as const;

const options = readOptionsOrExit();
if (!existsSync('/proc/self/stat')) {
  process.stderr.write('the bench reads CPU time from /proc: run it on Linux\n');
  process.exit(2);
}
// A database, a browser and two planes need both cores.
const { peer, upstreamPort } = options;
const isAwake = !['records', 'dashboard', 'changes'].includes(options.mode);
const { session, close } = await openSession({ isAwake, peer, upstreamPort });
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void close().finally(() => process.exit(signal === 'SIGINT' ? 130 : 143)));
}
try {
  say(`${describeMachine()}\n`);
  await (MODES[options.mode] ?? tabulate)(session, options);
} catch (error) {
  progress('');
  process.stderr.write(`the bench broke off: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await close();
}

async function tabulate(open: Session, asked: Options): Promise<void> {
  await measureTable(open, asked);
  for (const { mode, title, ...extent } of asked.isWhole ? FURTHER : []) {
    say(`\n${title}`);
    await MODES[mode]?.(open, { ...asked, ...extent });
  }
}

async function measureTable(open: Session, { quick, parts, variants, limiter, ...rest }: Options): Promise<void> {
  const beganMs = performance.now();
  const rounds = rest.rounds ?? (quick ? ROUNDS.quick : ROUNDS.table);
  if (parts.length > 0) {
    const findings = await measureAll(open, { quick, parts, variants, rounds });
    say(`${renderReport(findings)}\n`);
    say(
      `took ${((performance.now() - beganMs) / 1000).toFixed(0)} s; ${rounds} slices of ${SLICE_SECONDS} s per cell.`,
    );
    say('CPU µs/req: median of the slices (least of the slices); × bare: from pairs of slices of one round.');
    if (rest.json !== undefined) {
      const all = { machine: describeMachine(), rounds, ...figuresOf(findings), findings };
      writeFileSync(rest.json, `${JSON.stringify(all, null, 2)}\n`);
    }
    if (rest.record) say(`recorded in ${record(findings)}`);
  }
  if (limiter) {
    const { admitNs, manyToFew } = LIMITER_TARGETS;
    say(`\n${renderLimiter(measureLimiter())}`);
    say(`targets: admission with 3 matching rules ≤ ${admitNs} ns, 10,000 rules ≤ ${manyToFew} × 10 rules`);
  }
}

async function compare(open: Session, { compare: names, workloads, pairs, launches }: Options): Promise<void> {
  const [before = '', after] = names;
  const trees = { before: openTree(before, open.atEnd), after: after ? openTree(after, open.atEnd) : ownTree() };
  say(renderComparison(trees, await compareTrees(open, trees, { workloads, pairs, launches })));
}

async function tabulateFlags(open: Session, { nodes, rounds = ROUNDS.flags }: Options): Promise<void> {
  say(await compareFlags(open, { nodes, rounds }));
}

async function profile(open: Session, { variants }: Options): Promise<void> {
  const { client, upstream, core, folder } = open;
  open.keepFolder();
  for (const workload of ['json', 'sse'] as const) {
    const at = (name: string): string => join(folder, `${name}-${workload}`);
    progress(`${workload}: profiling`);
    const launchBare = (flags: string[]): Promise<Running> => startBare(upstream.url, core, [...NODE_FLAGS, ...flags]);
    const bare = await profileUnderLoad(launchBare, { workload, client }, at('bare'));
    const launch = (flags: string[]): Promise<Running> =>
      startGateway(upstream.url, at('gateway'), { core, nodeFlags: [...NODE_FLAGS, ...flags] });
    // Without a gateway (--variants direct,bare) the bare pass-through is shown against itself.
    const gateway = variants.includes('gateway')
      ? await profileUnderLoad(launch, { workload, client }, join(at('gateway'), 'profile'))
      : bare;
    progress('');
    say(`${workload}, 50 connections, profiler on (absolute figures are higher than without)\n`);
    say(`${renderRooms(gateway, bare)}\n\n${renderFunctions(gateway, 25)}\n`);
  }
}

function readOptionsOrExit(): Options {
  const words = process.argv.slice(2);
  let problem = '';
  try {
    const read = readOptions(words);
    if (read !== undefined) return read;
  } catch (error) {
    problem = `${error instanceof Error ? error.message : String(error)}\n\n`;
  }
  process.stderr.write(`${problem}${USAGE}\n`);
  return process.exit(problem === '' ? 0 : 2);
}
