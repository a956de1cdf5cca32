// Counts the instructions a process executes with `perf stat`, where machine and kernel allow it.
import { type ChildProcess, spawn } from 'node:child_process';

/** Begins to count; resolves once perf counts, to a function that ends the count and resolves to the instructions. */
export type CountInstructions = (pid: number) => Promise<() => Promise<number>>;

/** The counter, or the reason why there is none. */
export type InstructionProbe =
  | { readonly count: CountInstructions; readonly why?: undefined }
  | { readonly count?: undefined; readonly why: string };

const EVENT = 'instructions:u';
const READY_DEADLINE_MS = 5000;

/** Tries perf once on this very process. `command` stands in for perf in tests. */
export async function probeInstructions(command = 'perf'): Promise<InstructionProbe> {
  const count: CountInstructions = async (pid) => await startCount(command, pid);
  try {
    const end = await count(process.pid);
    await end();
    return { count };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

/** The count in what `perf stat -x ,` prints. Throws with perf's own words when it counted nothing. */
export function readInstructions(report: string): number {
  const line = report.split('\n').find((candidate) => candidate.includes(`,${EVENT},`));
  const value = line?.split(',')[0] ?? '';
  if (/^\d+$/.test(value)) return Number(value);
  const words = value === '' ? (report.trim().split('\n').at(-1) ?? '') : value;
  throw new Error(`perf counts no instructions here: ${words === '' ? 'it printed nothing' : words}`);
}

async function startCount(command: string, pid: number): Promise<() => Promise<number>> {
  // With a control pipe perf begins disabled and says when it is attached: nothing of the start is counted.
  const args = ['stat', '-x', ',', '-e', EVENT, '-D', '-1', '--control', 'fd:3,4', '-p', String(pid)];
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] });
  let report = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    report += text;
  });
  const gone = new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => resolve());
  });
  await Promise.race([acknowledged(child), gone]);
  return async () => {
    child.kill('SIGINT');
    await gone;
    return readInstructions(report);
  };
}

// Rejects when perf does not answer in time; then it is ended.
function acknowledged(child: ChildProcess): Promise<void> {
  const [, , , orders, answers] = child.stdio;
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error('perf did not attach in time'));
    }, READY_DEADLINE_MS);
    const settle = (): void => {
      clearTimeout(deadline);
      resolve();
    };
    child.on('close', settle);
    child.on('error', settle);
    answers?.once('data', settle);
    orders?.on('error', () => {});
    if (orders !== null && orders !== undefined && 'write' in orders) orders.write('enable\n');
  });
}
