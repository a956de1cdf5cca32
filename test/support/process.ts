// Runs an entry file as a real child process, so that tests start, stop, kill and restart exactly what users run.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Teardown } from './teardown.ts';
import { waitFor } from './wait-for.ts';

export { freePort } from './ports.ts';

/** Without `import … from 'node:http'`, as in plane/http.ts. */
const { get } = process.getBuiltinModule('node:http');

const repository = resolve(import.meta.dirname, '../..');

/** `npm test` builds the programs once (deploy/build.ts), because hundreds are started; a test alone starts the source. */
function fileOf({ entry, fromSource = false }: ProcessOptions): string {
  const folder = fromSource ? undefined : process.env['TEST_BUILD'];
  const name = builtNames.get(entry);
  return resolve(repository, folder === undefined || name === undefined ? entry : `${folder}/${name}.js`);
}

/** The programs of which the build is run, and their names in it. */
const builtNames: ReadonlyMap<string, string> = new Map([
  ['proxy/main.ts', 'proxy'],
  ['control-plane/main.ts', 'control-plane'],
  ['deploy/local.ts', 'start'],
]);

/** Variables that the product reads: a developer's own must not leak into a test. */
const productVariable =
  /^(GATEWAY_|OTEL_|DEMO_|OPENAI_|ANTHROPIC_|SET_(PROVIDER_)?RATE_LIMIT_|RATE_LIMITS_|(USAGE_ENABLED|REDIS_URL|DATABASE_URL|LOG_LEVEL)$)/;

/** Killed with the test process itself, whatever happens to teardowns. */
const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/**
 * When a process counts as started: a JSON log line with `msg: "listening"` (its `address` is kept), a line of output that
 * contains the text or matches, HTTP 200 on a URL, or at once (`spawned`, for starts that are meant to fail).
 */
export type Ready = 'listening' | 'spawned' | { line: string | RegExp } | { url: string };

export interface ProcessOptions {
  /** Path of the file to run, relative to the repository; of a plane or `npm start`, what `npm test` has built of it is run. */
  entry: string;
  /** Runs the source in any case: for tests that put something into one of its files. */
  fromSource?: boolean;
  args?: string[];
  /** Flags for Node itself, before the entry. */
  execArgv?: string[];
  /** How many files it may have open; default: as many as the test. */
  descriptors?: number;
  /** Added to the test's environment, from which the product's own variables are removed; `undefined` removes one. */
  env?: Record<string, string | undefined>;
  /** Default: the repository. */
  cwd?: string;
  /** Default: `listening`. */
  ready?: Ready;
  /** How long a start or a stop may take; default 10 s. */
  deadlineMs?: number;
  /** Kills the process when this test ends. Without it the caller must. */
  t?: Teardown;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export type LogLine = Record<string, unknown>;

export interface RunningProcess {
  readonly pid: number;
  /** The `address` of the last "listening" line, for example `http://127.0.0.1:41234`. */
  readonly address: string;
  /** Lines of every run so far, oldest first. */
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  /** Of the current run; settles once its output has been read. */
  readonly exited: Promise<Exit>;
  readonly running: boolean;
  /** The last lines of the current run, for error messages. */
  lastLines(): string;
  /** The JSON lines of both outputs, every run, without those of the access log. */
  logs(): LogLine[];
  /** The lines of the access log, every run. */
  requests(): LogLine[];
  /** The first line, of any run and either output, that contains the text or matches. */
  waitForLine(match: string | RegExp, deadlineMs?: number): Promise<string>;
  signal(name: NodeJS.Signals): void;
  /** SIGTERM, then the exit. Past the deadline (default: the process's own): SIGKILL and an error. */
  stop(stopDeadlineMs?: number): Promise<Exit>;
  /** SIGKILL, then the exit. */
  kill(): Promise<Exit>;
  /** Stops what still runs and starts anew, with these variables changed from now on. */
  restart(env?: Record<string, string | undefined>): Promise<void>;
}

/** How much memory it has at this moment, or had at most. */
export function residentBytes({ pid }: Pick<RunningProcess, 'pid'>, which: 'now' | 'peak' = 'now'): number {
  const line = which === 'now' ? /^VmRSS:\s+(\d+) kB$/m : /^VmHWM:\s+(\d+) kB$/m;
  return Number(line.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** Starts `entry` with this Node and waits until it is ready. Rejects with its last lines if it exits or stays silent. */
export async function startProcess(options: ProcessOptions): Promise<RunningProcess> {
  const { deadlineMs = 30_000 } = options;
  const stdout: string[] = [];
  const stderr: string[] = [];
  let env = options.env ?? {};
  let address: string | undefined;
  let run = startRun();

  function startRun() {
    const args = [...(options.execArgv ?? []), fileOf(options), ...(options.args ?? [])];
    const limited = ['-c', `ulimit -n ${options.descriptors} && exec "$0" "$@"`, process.execPath];
    const isLimited = options.descriptors !== undefined;
    const child = spawn(isLimited ? 'sh' : process.execPath, isLimited ? [...limited, ...args] : args, {
      cwd: options.cwd ?? repository,
      env: childEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const fresh = { child, exited: watchExit(child), exit: undefined as Exit | undefined, lines: [] as string[] };
    void fresh.exited.then((exit) => {
      fresh.exit = exit;
    });
    readLines(child.stdout, (line) => fresh.lines.push(line) && stdout.push(line));
    readLines(child.stderr, (line) => fresh.lines.push(line) && stderr.push(line));
    return fresh;
  }

  async function untilReady(): Promise<void> {
    const ready = options.ready ?? 'listening';
    if (ready === 'spawned') return;
    try {
      await waitFor(
        `${options.entry} to be ready`,
        async () => {
          if (run.exit)
            throw new Error(`${options.entry} exited (${run.exit.code ?? run.exit.signal}) before it was ready`);
          return isReady(ready);
        },
        deadlineMs,
      );
    } catch (error) {
      await kill();
      throw new Error(`${options.entry} did not start; its last lines:\n${lastLines()}`, {
        cause: error,
      });
    }
  }

  async function isReady(ready: Exclude<Ready, 'spawned'>): Promise<boolean> {
    if (ready === 'listening') {
      const line = parseLogs(run.lines).find((log) => log['msg'] === 'listening');
      if (typeof line?.['address'] === 'string') address = line['address'];
      return line !== undefined;
    }
    if ('line' in ready) return run.lines.some((line) => matches(line, ready.line));
    return answers200(ready.url);
  }

  async function stop(stopDeadlineMs = deadlineMs): Promise<Exit> {
    if (run.exit) return run.exit;
    run.child.kill('SIGTERM');
    const exit = await Promise.race([run.exited, setTimeout(stopDeadlineMs, undefined, { ref: false })]);
    if (exit) return exit;
    await kill();
    throw new Error(`${options.entry} still ran ${stopDeadlineMs} ms after SIGTERM; its last lines:\n${lastLines()}`);
  }

  const lastLines = () => run.lines.slice(-20).join('\n');

  function kill(): Promise<Exit> {
    run.child.kill('SIGKILL');
    return run.exited;
  }

  options.t?.teardown(kill);
  await untilReady();

  return {
    get pid() {
      return run.child.pid ?? -1;
    },
    get address() {
      if (address === undefined) throw new Error(`${options.entry} has not said where it listens`);
      return address;
    },
    get exited() {
      return run.exited;
    },
    get running() {
      return run.exit === undefined;
    },
    stdout,
    stderr,
    lastLines,
    logs: () => parseLogs([...stdout, ...stderr]).filter(({ msg }) => msg !== 'request'),
    requests: () => parseLogs(stdout).filter(({ msg }) => msg === 'request'),
    waitForLine: (match, lineDeadlineMs) =>
      waitFor(
        `a line with ${match}`,
        () => [...stdout, ...stderr].find((line) => matches(line, match)),
        lineDeadlineMs,
      ),
    signal: (name) => void run.child.kill(name),
    stop,
    kill,
    async restart(changes = {}) {
      await stop();
      env = { ...env, ...changes };
      run = startRun();
      await untilReady();
    },
  };
}

function childEnvironment(changes: Record<string, string | undefined>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !productVariable.test(name));
  const all = { ...Object.fromEntries(inherited), ...changes };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function watchExit(child: ChildProcess): Promise<Exit> {
  alive.add(child);
  alive.add(child);
  const closed = new Promise<Exit>((done) => {
    child.once('error', () => done({ code: null, signal: null }));
    child.once('close', (code, signal) => done({ code, signal }));
  });
  // A grandchild may keep the pipes open for ever: then the output read so far has to do.
  const exited = new Promise<Exit>((done) => {
    child.once('exit', (code, signal) => {
      alive.delete(child);
      done(setTimeout(500, { code, signal }, { ref: false }));
    });
  });
  return Promise.race([closed, exited]);
}

function readLines(stream: NodeJS.ReadableStream, take: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
  stream.on('end', () => rest && take(rest));
}

function parseLogs(lines: readonly string[]): LogLine[] {
  return lines.flatMap((line) => {
    try {
      const log: LogLine = line.startsWith('{') ? JSON.parse(line) : undefined;
      return log ? [log] : [];
    } catch {
      return [];
    }
  });
}

function matches(line: string, match: string | RegExp): boolean {
  return typeof match === 'string' ? line.includes(match) : match.test(line);
}

function answers200(url: string): Promise<boolean> {
  return new Promise((done) => {
    const request = get(url, { agent: false, timeout: 300 }, (response) => {
      response.resume();
      done(response.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => done(false));
  });
}
