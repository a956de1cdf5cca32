// The workers of a proxy, as the system knows them.
import { readdirSync, readFileSync } from 'node:fs';

/** The ids of the workers of a process, by their numbers. */
export function workersOf(parent: number): ReadonlyMap<number, number> {
  const children = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name) || statOf(Number(name))?.parent !== parent) continue;
    const worker = /--worker=(\d+)/.exec(commandOf(Number(name)))?.[1];
    if (worker !== undefined) children.set(Number(worker), Number(name));
  }
  return children;
}

/** A process that has ended and that nobody has asked for is none. */
export function isAlive(pid: number): boolean {
  const state = statOf(pid)?.state;
  return state !== undefined && state !== 'Z';
}

function statOf(pid: number): { readonly state: string; readonly parent: number } | undefined {
  try {
    const [state = '', parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
