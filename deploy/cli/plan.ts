// `model-gateway plan`: with `--live` the traffic is fetched from a gateway first; the program replays it.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectionHelp } from './admin-api.ts';
import type { Outcome } from './commands.ts';
import { exportTraffic } from './export-traffic.ts';
import { writeLiveConfig } from './live-config.ts';
import { programCommand } from './programs.ts';

export const planUsage = 'DIR [--against DIR|REF] [--traffic SOURCE | --live URL] [--fail-on CONDITIONS]';

export const planHelp = `usage: model-gateway plan DIR [--against DIR|REF] [--traffic SOURCE | --live URL] [options]

Says what the configuration in DIR changes, and what it would have done to requests that were recorded: which would be refused, by which rule and
from when; which would go to another provider; what they would cost. It replays both configurations on the clock of the traffic, with
the code of the gateway. Nothing is sent to a provider, and bodies are not needed.

  --against DIR|REF     the configuration that recorded the traffic: a directory, branch, tag or commit; default HEAD, with --live the one in force
  --traffic SOURCE      a file that model-gateway export traffic wrote (.gz too), the data directory of a control plane, or postgresql://…
  --live URL            the gateway itself: its records of the last 24 hours, and what operators have set there
  --without-overrides   leaves out what operators have set
  --salt-file FILE      the salt of a file whose names are hashes: those that stand in the configurations are shown
  --since, --until      which time: a moment (2026-03-31T00:00:00Z), or a length back from now (24h, 7d)
  --format text         for a terminal (the default)
  --format json         one object: changes[], impact, not_known[], failed[]
  --format markdown     a comment for a pull request
  --format github       annotations of a runner
  --fail-on CONDITIONS  names, > or >=, and a number, with commas between; with % a share:
                          refusals  requests that would be refused and are not now
                          moved     requests that another target would answer
                          cost      dollars more, of traffic of several days on average of one; with %, of what is spent now
                          unpriced  requests that would be served without a known price

With --live: ${connectionHelp.split('\n').slice(1).join('\n')}

exit code: 0 done, 1 a configuration cannot be used, the traffic cannot be read, or a condition holds, 2 the command itself is wrong`;

/** Of the output of the program. Bytes. */
const mostOutput = 64 * 1024 * 1024;

export async function plan(args: readonly string[]): Promise<Outcome> {
  const url = optionOf(args, '--live');
  if (url === undefined) return runProgram(args);
  if (optionOf(args, '--traffic') !== undefined) return { output: '--traffic and --live exclude each other', code: 2 };
  const folder = mkdtempSync(join(tmpdir(), 'gateway-plan-'));
  try {
    const host = URL.parse(url)?.host ?? 'gateway';
    const file = join(folder, `${host}.ndjson`);
    const times = ['--since', '--until'].flatMap((name) => {
      const value = optionOf(args, name);
      return value === undefined ? [] : [name, value];
    });
    const { output, code } = await exportTraffic([file, '--url', url, ...times]);
    if (code !== 0) return { output, code };
    const against = optionOf(args, '--against') === undefined ? await liveConfig(url, args, folder) : [];
    return await runProgram([...without(args, '--live'), '--traffic', file, ...against]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The options that name the configuration in force. */
async function liveConfig(url: string, args: readonly string[], folder: string): Promise<readonly string[]> {
  const own = args.find((each, place) => !each.startsWith('-') && !args[place - 1]?.startsWith('--')) ?? '.';
  const config = join(folder, 'live');
  const revision = await writeLiveConfig(url, config, own);
  return ['--against', config, '--against-name', `the configuration in force at ${url} (${revision})`];
}

function runProgram(args: readonly string[]): Promise<Outcome> {
  const words = [...programCommand('plan'), ...args];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, words, { maxBuffer: mostOutput }, (error, output, said) => {
      const code = error === null ? 0 : error.code;
      if (code === 0 || code === 1 || code === 2) resolve({ output: output.trimEnd(), code, isReport: code !== 2 });
      else reject(new Error(said.trimEnd() || (error?.message ?? '')));
    });
  });
}

/** Of an option, given as `--name value` or `--name=value`. */
function optionOf(args: readonly string[], name: string): string | undefined {
  const place = args.indexOf(name);
  if (place !== -1) return args[place + 1];
  return args.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
}

function without(args: readonly string[], name: string): readonly string[] {
  return args.filter((each, place) => each !== name && args[place - 1] !== name && !each.startsWith(`${name}=`));
}
