// Starts one process of a local start, and reads its output line by line.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { parseLogLine } from './log-line.ts';

const leash = new URL('leash.ts', import.meta.url).href;
/** Tells the leash whose child it is: by the time it runs, the parent may be gone already. */
const parentVariable = 'LOCAL_START_PID';

export interface ChildOptions {
  readonly name: string;
  /** The file to run, with Node's own flags before it. */
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** Called with every line except the one with the address. */
  readonly onLine: (line: string) => void;
}

export interface Child {
  readonly name: string;
  /** Undefined when it could not be started. */
  readonly pid: number | undefined;
  /** Resolves with the address of the child's "listening" line; never when the child ends before. */
  readonly address: Promise<string>;
  /** Resolves with words such as "exit code 1" when the process has ended and its output was read. */
  readonly exited: Promise<string>;
  readonly signal: (name: NodeJS.Signals) => void;
}

/** Starts a child in a separate process group, so that Ctrl-C reaches the parent only. The child ends when the parent is killed. */
export function startChild({ name, command, environment, onLine }: ChildOptions): Child {
  const child = spawn(process.execPath, ['--import', leash, ...command], {
    env: { ...environment, [parentVariable]: String(process.pid) },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const address = new Promise<string>((resolve) => {
    const read = (line: string) => {
      const parsed = parseLogLine(line);
      const announced = parsed?.message === 'listening' ? parsed.fields['address'] : undefined;
      if (typeof announced === 'string') resolve(reachable(announced));
      else onLine(line);
    };
    for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', read);
  });
  const exited = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
  return { name, pid: child.pid, address, exited, signal: (signal) => void child.kill(signal) };
}

/** An address for clients: a wildcard host becomes the loopback address. */
function reachable(address: string): string {
  return address.replace('//0.0.0.0:', '//127.0.0.1:').replace(/\/\/\[::\]:/, '//[::1]:');
}
