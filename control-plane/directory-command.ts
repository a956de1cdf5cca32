// What the commands for a directory have in common: their argument, and what they say.
import type { Elsewhere } from '../store/backup/databases.ts';
import type { BackupFile } from '../store/backup/manifest.ts';
import type { DataPlaces } from './environment.ts';

export interface Outcome {
  readonly output: string;
  /** 0 done, 1 not possible, 2 wrong command. */
  readonly code: 0 | 1 | 2;
}

/** The directory as it was written, or what is to be said instead. */
export function readDirectoryArgument(args: readonly string[], usage: string, help: string): string | Outcome {
  if (args.includes('--help') || args.includes('-h')) return { output: help, code: 0 };
  const strange = args.find((arg) => arg.startsWith('-'));
  if (strange !== undefined) return { output: `the option ${strange} is unknown\n${usage}`, code: 2 };
  const [name, another] = args;
  if (name === undefined || another !== undefined) return { output: `name one directory\n${usage}`, code: 2 };
  return name;
}

/** What the data directory does not hold. */
export function elsewhereOf({ hasRedis, hasPostgres }: DataPlaces): ReadonlySet<Elsewhere> {
  return new Set([...(hasRedis ? (['redis'] as const) : []), ...(hasPostgres ? (['postgres'] as const) : [])]);
}

/** A file with its size. */
export function sentence({ path, bytes }: BackupFile): string {
  return `  ${path}  ${Math.ceil(bytes / 1024)} KiB`;
}
