// CPU time of a process to the nanosecond, from the scheduler's own account of each of its threads (Linux, /proc).
import { readdirSync, readFileSync } from 'node:fs';

const MS_PER_TICK = 10; // USER_HZ is 100 on every Linux platform Node runs on
// Both clocks run beside each other; more than this between them is time of threads that came and went. Milliseconds.
const UNSEEN_MS = 50;

/** What a process had used at one moment: nanoseconds per thread, and milliseconds of all threads, ended ones included. */
export interface CpuMark {
  readonly threads: ReadonlyMap<string, number>;
  readonly ticksMs: number;
}

/** Reads the account of a process; an empty one when it is gone. */
export function markCpu(pid: number): CpuMark {
  const threads = new Map<string, number>();
  for (const thread of threadsOf(pid)) {
    const ns = Number(readOrEmpty(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]);
    if (ns > 0) threads.set(thread, ns);
  }
  return { threads, ticksMs: cpuTicksMs(pid) };
}

/** CPU milliseconds (user + system) between two marks of a process. */
export function cpuBetweenMs(before: CpuMark, after: CpuMark): number {
  const ticksMs = after.ticksMs - before.ticksMs;
  let ns = 0;
  for (const [thread, now] of after.threads) {
    const then = before.threads.get(thread) ?? 0;
    // A number was given to a new thread.
    if (now < then) return ticksMs;
    ns += now - then;
  }
  // What an ended thread used is in no account but that of the whole process.
  for (const thread of before.threads.keys()) if (!after.threads.has(thread)) return ticksMs;
  const ms = ns / 1e6;
  return after.threads.size === 0 || ticksMs - ms > UNSEEN_MS ? ticksMs : ms;
}

/** User + system CPU milliseconds of a process since its start, in steps of 10 ms; 0 when it is gone. */
export function cpuTicksMs(pid: number | 'self'): number {
  const fields = statFields(pid);
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * MS_PER_TICK;
}

/** Fields of /proc/PID/stat after the command name, which may itself contain spaces and brackets; none when it is gone. */
export function statFields(pid: number | 'self'): string[] {
  const text = readOrEmpty(`/proc/${pid}/stat`);
  return text === '' ? [] : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
