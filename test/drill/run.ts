// npm run drill: plays ten faults of a night on a real fleet, and writes down where each shows, how soon it pages, and what helps.
//   npm run drill                    all of them, as Markdown; about 7 minutes
//   npm run drill -- --only disk     those whose name contains the word
//   npm run drill -- --write FILE    into a file, formatted
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { waitFor } from '../support/wait-for.ts';
import { alarmsOf } from './alarms.ts';
import { FAULTS, type Fault, run } from './faults.ts';
import { complaintsOf, isWell, look } from './observe.ts';
import { type Answers, brokenPromises, type Finding, renderDrill } from './report.ts';
import { startWorld, TEAMS, type World } from './world.ts';

const USUAL_SECONDS = 10;
const WATCHED_SECONDS = 20;
const HELP_MS = 15_000;
/** How long nothing may go wrong before a command counts as having worked, and how often that is looked at. */
const STEADY_MS = 2_000;
const LOOK_MS = 250;

const { values } = parseArgs({ options: { only: { type: 'string', default: '' }, write: { type: 'string' } } });
const chosen = FAULTS.filter(({ name }) => name.toLowerCase().includes(values.only.toLowerCase()));
const findings: Finding[] = [];
for (const fault of chosen) {
  process.stderr.write(`${fault.name}\n`);
  findings.push(await play(fault));
}
const page = renderDrill(findings);
if (values.write === undefined) console.log(page);
else {
  writeFileSync(values.write, page);
  execFileSync('node_modules/.bin/biome', ['format', '--write', values.write]);
}
const broken = findings.flatMap(brokenPromises);
for (const promise of broken) process.stderr.write(`${promise}\n`);
process.exitCode = broken.length === 0 ? 0 : 1;

async function play(fault: Fault): Promise<Finding> {
  const undoing: (() => unknown)[] = [];
  const t = { teardown: (undo: () => unknown) => undoing.unshift(undo) };
  try {
    const world = await startWorld(t, fault.stores);
    await waitFor('the fleet to be well', () => isWell(world));
    const before = await world.scrape(USUAL_SECONDS);
    const usual = await look(world, fault.explained ?? TEAMS[0]);
    takeAnswers(world);
    const startedMs = Date.now();
    await fault.begin(world);
    const during = await world.scrape(fault.seconds ?? WATCHED_SECONDS);
    const sight = await look(world, fault.explained ?? TEAMS[0]);
    const answers = takeAnswers(world);
    const complaints = complaintsOf(world, startedMs, sight);
    const helpedAfter = await help(fault, world);
    const afterwards = takeAnswers(world);
    return {
      fault,
      alarms: alarmsOf(t, { before, during }),
      during: answers,
      afterwards,
      usual,
      sight,
      complaints,
      helpedAfter,
    };
  } finally {
    for (const undo of undoing) await undo();
  }
}

/** Runs the command; gives the seconds until it has worked, and has for two seconds. */
async function help(fault: Fault, world: World): Promise<number | undefined> {
  const startedMs = performance.now();
  await run(fault.command, world);
  let goodSinceMs = performance.now();
  const isGood = async (): Promise<boolean> => {
    const isServed = [...world.answers(TEAMS[0]).keys()].every((status) => status === '200');
    if (fault.helped !== undefined) return isServed && (await fault.helped(world));
    return isServed && (await isWell(world));
  };
  try {
    await waitFor(
      'the command to help',
      async () => {
        if (!(await isGood())) goodSinceMs = performance.now();
        await pause(LOOK_MS);
        return performance.now() - goodSinceMs > STEADY_MS;
      },
      HELP_MS,
    );
    return (goodSinceMs - startedMs) / 1000;
  } catch {
    return undefined;
  }
}

function takeAnswers({ answers }: World): Answers {
  return new Map(TEAMS.map((team) => [team, answers(team)]));
}
