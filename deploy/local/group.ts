// Starts several processes and stops them together: when one ends, the others are stopped; Ctrl-C lets open streams finish.
import { type Child, startChild } from './child.ts';
import { parseLogLine, renderLogLine } from './log-line.ts';

export interface LaunchOptions {
  /** Its name in printed lines. */
  readonly name: string;
  /** The file to run, with Node's own flags before it. */
  readonly command: readonly string[];
  /** Added to the environment of this process. */
  readonly variables?: NodeJS.ProcessEnv;
  /** Processes of wave 0 are stopped before those of wave 1. Default 1. */
  readonly wave?: number;
  /** The signal of a second Ctrl-C. Default SIGKILL; a process with a child needs another one, because it cannot pass SIGKILL on. */
  readonly lastSignal?: NodeJS.Signals;
  /** After all processes have started, the others continue when this one ends. */
  readonly canBeMissed?: boolean;
}

export interface Group {
  launch(options: LaunchOptions): Child;
  /** Prints the output so far, and from now on every line at once. Until then lines are kept, so that a failed start prints them once. */
  announce(): void;
  /** The last lines of all processes. */
  said(): readonly string[];
  isStopping(): boolean;
  /** Prints the reasons to stderr, stops all processes, wave by wave, then this process. */
  stop(exitCode: number, reasons: readonly string[]): Promise<void>;
}

interface Member {
  readonly child: Child;
  readonly wave: number;
  readonly lastSignal: NodeJS.Signals;
}

// One Ctrl-C may arrive twice, from the terminal and from npm; within this time it counts once.
const sameSignalMs = 300;
const keptLines = 40;
/** Levels above info, by rank. */
const ranks: Readonly<Record<string, number>> = { warn: 1, error: 2, fatal: 3, silent: 4 };

/** Creates the group. From now on it handles the signals of this process, and stops when the parent has ended. */
export function createGroup(env: NodeJS.ProcessEnv): Group {
  const lines = new Map<string, string[]>();
  const members: Member[] = [];
  /** The children log at info, because the line with the address has this level; lines below LOG_LEVEL are dropped here. */
  const quietBelow = ranks[env['LOG_LEVEL'] ?? ''] ?? 0;
  const logLevel = quietBelow > 0 ? { LOG_LEVEL: 'info' } : {};
  let announced = false;
  let stoppedAtMs: number | undefined;

  function hear(name: string, line: string): void {
    const level = parseLogLine(line)?.level;
    // Text that is not a log line is always shown.
    if (level !== undefined && (ranks[level] ?? 0) < quietBelow) return;
    const kept = lines.get(name) ?? [];
    kept.push(renderLogLine(name, line));
    if (kept.length > keptLines) kept.shift();
    lines.set(name, kept);
    if (announced) say(renderLogLine(name, line));
  }

  async function stop(exitCode: number, reasons: readonly string[]): Promise<void> {
    if (stoppedAtMs !== undefined) return;
    stoppedAtMs = performance.now();
    for (const reason of reasons) say(reason);
    const waves = [...new Set(members.map(({ wave }) => wave))].sort((a, b) => a - b);
    for (const wave of waves) {
      const leaving = members.filter((member) => member.wave === wave);
      for (const { child } of leaving) child.signal('SIGTERM');
      await Promise.all(leaving.map(({ child }) => child.exited));
    }
    process.exit(exitCode);
  }

  function onSignal(): void {
    if (stoppedAtMs === undefined) {
      void stop(0, ['', 'Stopping: open streams may finish. Ctrl-C again stops at once.']);
    } else if (performance.now() - stoppedAtMs > sameSignalMs) {
      for (const { child, lastSignal } of members) child.signal(lastSignal);
      process.exit(130);
    }
  }

  // When the terminal is closed, writing fails; this process must not end before its children.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) void stop(0, ['The process that started this one is gone: stopping.']);
  }, 250).unref();

  return {
    launch({ name, command, variables = {}, wave = 1, lastSignal = 'SIGKILL', canBeMissed = false }) {
      const environment = { ...env, ...variables, ...logLevel };
      const child = startChild({ name, command, environment, onLine: (line) => hear(name, line) });
      members.push({ child, wave, lastSignal });
      void child.exited.then((how) => {
        const last = lines.get(name) ?? ['(nothing)'];
        if (stoppedAtMs !== undefined) return;
        if (canBeMissed && announced) say(`The ${name} stopped (${how}). The others continue without it.`);
        else void stop(1, [`The ${name} stopped (${how}). Its last lines:`, ...last]);
      });
      return child;
    },
    announce() {
      announced = true;
      for (const line of [...lines.values()].flat()) say(line);
    },
    said: () => [...lines.values()].flat(),
    isStopping: () => stoppedAtMs !== undefined,
    stop,
  };
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
