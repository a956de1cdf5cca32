// A README as its reader does it: `npm start` of an example, and its commands pasted into one shell.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { exampleVariables } from '../../deploy/local/examples.ts';
import { type RunningProcess, startProcess } from './process.ts';
import type { Teardown } from './teardown.ts';
import { waitFor } from './wait-for.ts';

const top = join(import.meta.dirname, '../..');

/** The blocks of a README in this language (empty: what is printed), in their order. */
export function blocksIn(readme: string, language: string): string[] {
  const blocks = [...readme.matchAll(/^```(\w*)\n(.*?)^```$/gms)];
  return blocks.filter(([, name]) => name === language).map(([, , block = '']) => block);
}

/** What READMEs say, and what it is in a test. */
export type Places = Readonly<Record<string, string>>;

/** A text of a README, with the places of a test. */
export function inPlaces(text: string, places: Places): string {
  return Object.entries(places).reduce((all, [there, place]) => all.replaceAll(there, place), text);
}

export interface LocalStart {
  readonly gateway: RunningProcess;
  /** Addresses without a path. */
  readonly url: string;
  readonly demoUrl: string;
  readonly places: Places;
}

/** The example that a command of its README starts; undefined: that of the quickstart. */
export function exampleOf(start: string): string | undefined {
  return /npm start -- (\S+)$/m.exec(start)?.[1];
}

/** Runs what `npm start` runs (of `npm test`, its build), or `npm start -- EXAMPLE`, on free ports, with its data in `home`. */
export async function startLocal(
  t: Teardown,
  home: string,
  env: Readonly<Record<string, string | undefined>>,
  example?: string,
): Promise<LocalStart> {
  const own = (example === undefined ? undefined : exampleVariables(example, top)) ?? {};
  const gateway = await startProcess({
    t,
    entry: 'deploy/local.ts',
    args: example === undefined ? [] : [example],
    env: {
      // That of the repository, also when the build is run.
      GATEWAY_CONFIG: own['GATEWAY_CONFIG'] ?? 'examples/quickstart/config',
      GATEWAY_DATA: join(home, 'data'),
      GATEWAY_PORT: '0',
      GATEWAY_ADMIN_PORT: '0',
      DEMO_PROVIDER_PORT: '0',
      DEMO_TOKEN_INTERVAL_MS: '0',
      ...env,
    },
    ready: { line: /^Ctrl-C stops everything/ },
  });
  t.teardown(() => gateway.stop());
  const said = gateway.stdout.join('\n');
  const [, url = ''] = /^ {2}API +(\S+)\/v1$/m.exec(said) ?? [];
  const [, demoUrl = ''] = /^ {2}Demo provider +(\S+)\/v1$/m.exec(said) ?? [];
  const { GATEWAY_PORT: port = '8080', DEMO_PROVIDER_PORT: demoPort = '8090', GATEWAY_DATA: data = './data' } = own;
  const places = {
    [`127.0.0.1:${port}`]: new URL(url).host,
    [`127.0.0.1:${demoPort}`]: new URL(demoUrl).host,
    [`${data.replace('./', '')}/`]: `${join(home, 'data')}/`,
  };
  return { gateway, url, demoUrl, places };
}

/** What a few seconds of work may take on a busy machine. */
const patienceMs = 60_000;

/** A terminal at the top of the repository: runs commands in one shell, and gives what they print on both outputs. */
export function openTerminal(t: Teardown, places: Places): (commands: string) => Promise<string> {
  const shell: ChildProcessByStdio<Writable, Readable, null> = spawn('sh', [], {
    cwd: top,
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  // What it runs in the background belongs to its group.
  t.teardown(() => shell.pid === undefined || process.kill(-shell.pid, 'SIGKILL'));
  let said = '';
  let pasted = 0;
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  shell.stdin.write('exec 2>&1\n');
  return async (commands) => {
    const from = said.length;
    pasted += 1;
    const end = `--- end of ${pasted}\n`;
    const here = inPlaces(commands, places);
    shell.stdin.write(`${here}\necho '${end.trim()}'\n`);
    await waitFor(`the end of:\n${here}`, () => said.endsWith(end), patienceMs);
    return said.slice(from, -end.length);
  };
}
