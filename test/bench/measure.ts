// Reads what the kernel says about processes and the machine: CPU time, memory, open files (Linux, /proc).
import { readdirSync, readFileSync } from 'node:fs';

const MS_PER_TICK = 10; // USER_HZ is 100 on every Linux platform Node runs on

/** Where CPU time went between the start and the end of a reading. */
export interface Reading {
  /** Wall time in seconds. */
  seconds: number;
  /** CPU milliseconds (user + system) per watched process, in the order given. */
  cpuMs: number[];
  /** CPU milliseconds of children that ended meanwhile (the load generator). */
  endedChildrenMs: number;
  /** Cores kept busy by everybody else on the machine. */
  foreignCores: number;
}

/** User + system CPU milliseconds of a process since its start; 0 when it is gone. */
export function cpuMs(pid: number): number {
  const fields = statFields(String(pid));
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * MS_PER_TICK;
}

/** False when the process is gone, or dead and not yet collected. */
export function isAlive(pid: number): boolean {
  const [state] = statFields(String(pid));
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** Resident memory of a process in MiB: now, and the most it ever was. Throws when the process is gone. */
export function memoryMiB(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  return { now: kib('VmRSS') / 1024, peak: kib('VmHWM') / 1024 };
}

/** Number of open file descriptors of a process. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Begins a reading over the given processes; the returned function ends it. */
export function startReading(pids: number[]): () => Reading {
  const startMs = performance.now();
  const machine = machineMs();
  const before = pids.map(cpuMs);
  const children = endedChildrenMs();
  const own = cpuMs(process.pid);
  return () => {
    const seconds = (performance.now() - startMs) / 1000;
    const cpu = pids.map((pid, index) => cpuMs(pid) - (before[index] ?? 0));
    const ended = endedChildrenMs() - children;
    const ours = cpu.reduce((sum, ms) => sum + ms, 0) + ended + cpuMs(process.pid) - own;
    const foreignCores = Math.max(0, (machineMs() - machine - ours) / 1000 / seconds);
    return { seconds, cpuMs: cpu, endedChildrenMs: ended, foreignCores };
  };
}

function endedChildrenMs(): number {
  const fields = statFields('self');
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) * MS_PER_TICK;
}

// user, nice, system, irq, softirq and steal: everything that is neither idle nor waiting for a disk.
function machineMs(): number {
  const ticks = (readFileSync('/proc/stat', 'latin1').split('\n')[0] ?? '').trim().split(/\s+/).slice(1).map(Number);
  return [0, 1, 2, 5, 6, 7].reduce((sum, index) => sum + (ticks[index] ?? 0), 0) * MS_PER_TICK;
}

// Fields after the command name, which may itself contain spaces and brackets.
function statFields(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
