// What a command of `model-gateway` is. The table of all of them is in table.ts.
import type { ProgramName } from './programs.ts';

/** What a person or a script gets. */
export interface Outcome {
  readonly output: string;
  /** 0 done, 1 not done, 2 the command itself is wrong. */
  readonly code: 0 | 1 | 2;
  /** It is what was asked for, whatever the code says, so it goes to standard output. */
  readonly isReport?: boolean;
}

interface Described {
  readonly name: string;
  /** What follows the name. */
  readonly usage: string;
  readonly summary: string;
  /** What a shell offers after the name. */
  readonly words: readonly string[];
}

/** A command that starts another program, in the place of this process where the system can. */
export interface ProgramCommand extends Described {
  readonly program: ProgramName;
  /** The program for these arguments; default: that one. */
  readonly programFor?: (args: readonly string[]) => ProgramName;
  /** Undefined where they are wrong. Default: the arguments of the command. */
  readonly argumentsFor?: (args: readonly string[]) => readonly string[] | undefined;
  /** Without it the program has a `--help` of its own. */
  readonly help?: string;
}

/** A command that is done here. */
export interface OwnCommand extends Described {
  readonly help: string;
  /** Throws an `Error` whose message says what a person can mend. */
  readonly run: (args: readonly string[]) => Promise<Outcome> | Outcome;
}

export type Command = ProgramCommand | OwnCommand;
