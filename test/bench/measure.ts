// Reads what the kernel says about processes and the machine: CPU time, memory, open files (Linux, /proc).
import { readdirSync, readFileSync } from 'node:fs';
import { cpuBetweenMs, markCpu, statFields } from './cpu-time.ts';
import type { Running } from './processes.ts';

const MS_PER_TICK = 10; // USER_HZ is 100 on every Linux platform Node runs on

/** Where CPU time went between the start and the end of a reading. */
export interface Reading {
  /** Wall time in seconds. */
  seconds: number;
  /** CPU milliseconds (user + system) per watched process, in the order given. */
  cpuMs: number[];
  /** Cores kept busy by everybody else on the machine. */
  foreignCores: number;
}

/** False when the process is gone, or dead and not yet collected. */
export function isAlive(pid: number): boolean {
  const [state] = statFields(pid);
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** Resident memory of a process in MiB: now, and the most it ever was. Throws when the process is gone. */
export function memoryMiB(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  return { now: kib('VmRSS') / 1024, peak: kib('VmHWM') / 1024 };
}

/** The same of a server with all its processes: what they share counts for each. */
export function memoryOf({ pid, further = [] }: Pick<Running, 'pid' | 'further'>): { now: number; peak: number } {
  const all = [pid, ...further].map(memoryMiB);
  return { now: total(all.map(({ now }) => now)), peak: total(all.map(({ peak }) => peak)) };
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Number of open file descriptors of a process. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The most open file descriptors a process may have. */
export function mostOpenFiles(pid: number): number {
  return Number(/^Max open files +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1] ?? Number.NaN);
}

/** Begins a reading over the given processes; the returned function ends it. */
export function startReading(pids: number[]): () => Reading {
  const watched = [...pids, process.pid];
  const startMs = performance.now();
  const machine = machineMs();
  const before = watched.map(markCpu);
  return () => {
    const seconds = (performance.now() - startMs) / 1000;
    const cpu = before.map((mark, index) => cpuBetweenMs(mark, markCpu(watched[index] ?? 0)));
    const ours = cpu.reduce((sum, ms) => sum + ms, 0);
    const foreignCores = Math.max(0, (machineMs() - machine - ours) / 1000 / seconds);
    return { seconds, cpuMs: cpu.slice(0, pids.length), foreignCores };
  };
}

// user, system, irq, softirq and steal: everything that is neither idle nor waiting for a disk. Not nice: that gives way (awake.ts).
function machineMs(): number {
  const ticks = (readFileSync('/proc/stat', 'latin1').split('\n')[0] ?? '').trim().split(/\s+/).slice(1).map(Number);
  return [0, 2, 5, 6, 7].reduce((sum, index) => sum + (ticks[index] ?? 0), 0) * MS_PER_TICK;
}
