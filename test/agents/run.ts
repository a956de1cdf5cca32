// `npm run agents`: coding agents as they are published do a task of two turns with tools and an MCP server through the gateway, without a network.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { parseArgs } from 'node:util';
import { providers, type TriedProvider } from '../clients/providers.ts';
import { tableOf } from '../clients/table.ts';
import { startFleet } from '../support/fleet.ts';
import type { Teardown } from '../support/teardown.ts';
import { type Agent, versionsOf } from './agent.ts';
import { agents } from './agents.ts';
import { install } from './install.ts';
import { type Outcome, outcomeOf, type Row } from './row.ts';

const usage = `npm run agents -- [--switch COLUMNS] [--without WORD]… [--keep FOLDER] [WORD]…
A WORD chooses the rows that have it in the name of the agent or of the provider; several words choose those that have all.
--without leaves such rows out. --switch leads the second turn to the provider that is so many columns further, 0 to 4.
--keep writes what providers were asked into files. Agents are installed into the cache of the user first (2 GB).
It needs Linux with \`unshare\` and \`ip\`, and Python up to 3.12 for aider.`;

const insideFlag = 'AGENTS_INSIDE_NAMESPACE';

function rowsOf(chosen: readonly string[], without: readonly string[], columns: number): readonly Row[] {
  const all = providers.flatMap((provider, index) => {
    const second = providers[(index + columns) % providers.length] ?? provider;
    // A login is for its vendor.
    const able = agents.filter(
      ({ login, speaks }) => login === undefined || (speaks === provider.title && second === provider),
    );
    return able.map((agent): Row => ({ agent, provider, second }));
  });
  return all.filter(({ agent, provider }) => {
    const name = `${agent.name}, ${provider.title} ${provider.wire.name}`.toLowerCase();
    const has = (word: string): boolean => name.includes(word.toLowerCase());
    return chosen.every(has) && !without.some(has);
  });
}

/** Installs what the rows need, and says what cannot be had. Gives false then. */
function installAll(rows: readonly Row[]): boolean {
  let isWhole = true;
  for (const source of new Set(rows.map(({ agent }) => agent.source))) {
    try {
      install(source);
    } catch (error) {
      isWhole = false;
      process.stderr.write(
        `${versionsOf(source)} cannot be installed. ${(error as Error).message}\nLeave it out with --without.\n`,
      );
    }
  }
  return isWhole;
}

/** This program again, in namespaces of its own: no network but loopback, and every process ends with it. */
function again(): number {
  const inside = ['--map-root-user', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const command = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh', process.execPath, ...process.argv.slice(1)];
  const env = { ...process.env, [insideFlag]: '1' };
  const { status, error } = spawnSync('unshare', [...inside, '--', ...command], { env, stdio: 'inherit' });
  if (error !== undefined) process.stderr.write(`unshare: ${error.message}\n`);
  return status ?? 1;
}

/** Every row, one after the other, with a line for each. */
async function outcomesOf(rows: readonly Row[], keepAt: string | undefined): Promise<readonly Outcome[]> {
  const strays = Object.keys(networkInterfaces()).filter((name) => name !== 'lo');
  if (strays.length > 0) throw new Error(`the network is not only loopback, but has ${strays.join(', ')}`);
  if (keepAt !== undefined) mkdirSync(keepAt, { recursive: true });
  return cleanly(async (t) => {
    const fleet = await startFleet(t, { store: 'sqlite', proxies: 1 });
    const outcomes: Outcome[] = [];
    for (const row of rows) {
      const outcome = await cleanly((own) => outcomeOf(row, { t: own, fleet, keepAt }));
      outcomes.push(outcome);
      process.stdout.write(`${lineOf(outcome)}\n`);
    }
    return outcomes;
  });
}

/** Undoes what the work has registered, whatever becomes of it. */
async function cleanly<T>(work: (t: Teardown) => Promise<T>): Promise<T> {
  const undoing: (() => unknown)[] = [];
  try {
    return await work({ teardown: (undo) => undoing.push(undo) });
  } finally {
    for (const undo of undoing.toReversed()) await undo();
  }
}

function lineOf({ agent, provider, second, faults, dropped, seconds }: Outcome): string {
  const left = dropped.length === 0 ? '' : `; left out: ${dropped.join(', ')}`;
  const head = `${faults.length === 0 ? 'ok    ' : 'FAILED'} ${agent.name}, with ${provider.title}${second === provider ? '' : ` and then ${second.title}`} (${seconds.toFixed(1)} s)${left}`;
  return [head, ...faults].join('\n         ');
}

function cellsOf(agent: Agent, outcomes: readonly Outcome[]): readonly string[] {
  const of = ({ title }: TriedProvider): Outcome | undefined => {
    return outcomes.find((outcome) => outcome.agent === agent && outcome.provider.title === title);
  };
  const shown = (outcome: Outcome | undefined): string => {
    if (outcome === undefined) return '–';
    return outcome.faults.length === 0 ? 'ok' : 'FAILED';
  };
  return [agent.name, versionsOf(agent.source), ...providers.map((provider) => shown(of(provider)))];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    without: { type: 'string', multiple: true, default: [] },
    keep: { type: 'string' },
    switch: { type: 'string', default: '0' },
    help: { type: 'boolean', default: false },
  },
});
const isKnown = /^[0-4]$/.test(values.switch);
const rows = rowsOf(positionals, values.without, Number(values.switch));
if (values.help || !isKnown || rows.length === 0) {
  process.stdout.write(`${usage}\n`);
  process.exitCode = values.help ? 0 : 2;
} else if (process.env[insideFlag] === undefined) {
  process.exitCode = installAll(rows) ? again() : 1;
} else {
  const outcomes = await outcomesOf(rows, values.keep);
  const head = ['Agent', 'Versions', ...providers.map(({ title }) => title)];
  const lines = agents.map((agent) => cellsOf(agent, outcomes));
  process.stdout.write(`\n${tableOf(head, lines)}\n`);
  process.exitCode = outcomes.every(({ faults }) => faults.length === 0) ? 0 : 1;
}
