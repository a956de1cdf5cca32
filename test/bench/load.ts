// Drives load at a URL with the generator at hand (wrk, else autocannon; an own client for paced streams) and counts.
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { MASTER_KEY, onCore } from './processes.ts';
import { requestBody, type Workload } from './workload.ts';

/** What a generator saw. Latency is to the last byte; for paced streams to the first event. */
export interface LoadResult {
  requests: number;
  /** Events received; only the paced client counts them itself. */
  events?: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** Connection errors, timeouts, statuses other than 2xx, broken streams. */
  failures: number;
}

/** The closed-loop generators there are. */
export type Generator = 'wrk' | 'autocannon';

/** How to load: how many connections, and for how long (or, with autocannon, how many requests). */
export interface Load {
  url: string;
  workload: Workload;
  connections: number;
  seconds: number;
  amount?: number;
  core?: number | undefined;
}

const FOLDER = import.meta.dirname;

/** wrk where it is installed, autocannon otherwise. */
export function availableGenerator(): Generator {
  return spawnSync('wrk', ['-v']).error === undefined ? 'wrk' : 'autocannon';
}

/** Closed loop over keep-alive connections. Rejects when the generator itself fails. */
export async function closedLoop(generator: Generator, load: Load): Promise<LoadResult> {
  return generator === 'wrk' ? await withWrk(load) : await withAutocannon(load);
}

/** `connections` streams side by side, each repeated until `rounds` are through; every event is waited for. */
export async function pacedStreams(load: Load, rounds: number): Promise<LoadResult> {
  const args = ['--url', `${load.url}/v1/chat/completions`, '--body', requestBody('paced'), '--token', MASTER_KEY];
  args.push('--streams', String(load.connections), '--rounds', String(rounds));
  return JSON.parse(lastJson(await run(load.core, process.execPath, [join(FOLDER, 'stream-load.ts'), ...args])));
}

async function withWrk(load: Load): Promise<LoadResult> {
  const options = ['-t1', `-c${load.connections}`, `-d${Math.max(1, Math.round(load.seconds))}s`, '--latency'];
  const script = ['-s', join(FOLDER, 'wrk.lua'), `${load.url}/v1/chat/completions`, '--'];
  const args = [...options, ...script, requestBody(load.workload), MASTER_KEY];
  return JSON.parse(lastJson(await run(load.core, 'wrk', args)));
}

interface AutocannonReport {
  requests: { total: number };
  duration: number;
  latency: { p50: number; p99: number };
  errors: number;
  non2xx: number;
}

async function withAutocannon(load: Load): Promise<LoadResult> {
  const cli = join(FOLDER, '..', '..', 'node_modules', 'autocannon', 'autocannon.js');
  const until = load.amount === undefined ? ['-d', String(load.seconds)] : ['-a', String(load.amount)];
  const headers = ['-H', 'content-type=application/json', '-H', `authorization=Bearer ${MASTER_KEY}`];
  const args = [cli, '--json', '--no-progress', '-c', String(load.connections), ...until, '-m', 'POST', ...headers];
  args.push('-b', requestBody(load.workload), `${load.url}/v1/chat/completions`);
  const report: AutocannonReport = JSON.parse(lastJson(await run(load.core, process.execPath, args)));
  return {
    requests: report.requests.total,
    seconds: report.duration,
    p50Ms: report.latency.p50,
    p99Ms: report.latency.p99,
    failures: report.errors + report.non2xx,
  };
}

function run(core: number | undefined, program: string, programArgs: string[]): Promise<string> {
  const [command, args] = onCore(core, program, programArgs);
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(out);
      else reject(new Error(`${program} ended with ${code}: ${err.trim() || out.trim()}`));
    });
  });
}

function lastJson(text: string): string {
  const line = text.split('\n').findLast((candidate) => candidate.startsWith('{'));
  if (line === undefined) throw new Error(`the load generator printed no result: ${text.trim()}`);
  return line;
}
