// Runs a program for a time: what it printed, and why it failed. Everything that it started ends with it.
import { spawn } from 'node:child_process';

export interface Run {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  /** All of its variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly mostMs: number;
}

export interface Ended {
  /** Both outputs, in the order in which they came. */
  readonly printed: string;
  /** Undefined: it ended well. */
  readonly failure: string | undefined;
}

export function runFor({ command: [program, ...args], cwd, env, mostMs }: Run): Promise<Ended> {
  return new Promise((done) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let printed = '';
    let isLate = false;
    const late = setTimeout(() => {
      isLate = true;
      end();
    }, mostMs);
    // The group of processes that it leads.
    const end = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // All of them are gone.
      }
    };
    const settle = (failure: string | undefined): void => {
      clearTimeout(late);
      end();
      done({ printed, failure });
    };
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (printed += text));
    child.once('error', (error) => settle(error.message));
    child.once('exit', () => end());
    child.once('close', (code, signal) => {
      if (isLate) settle(`still running after ${mostMs / 1000} s`);
      else settle(code === 0 ? undefined : `ended with ${code ?? signal}`);
    });
  });
}
