// What the run needs to know of an agent: where it comes from, how a user sets it up and starts it, and how a model uses its tools.
import type { Heard } from '../support/scripted-model/heard.ts';
import type { Saying } from '../support/scripted-model/scenarios.ts';
import type { Files, Secrets } from './task.ts';

/** Packages with their exact versions; the first one has the program. */
export interface Source {
  readonly registry: 'npm' | 'pip';
  readonly packages: readonly string[];
}

/** Where an agent works. */
export interface Workplace {
  /** Of the gateway: `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly key: string;
  readonly home: string;
  /** The folder of the task. */
  readonly folder: string;
  /** Where its packages are installed. */
  readonly installed: string;
  /** The command of the MCP server. */
  readonly ledger: readonly [string, ...string[]];
}

export interface Agent {
  /** As the table of the documentation names it. */
  readonly name: string;
  readonly source: Source;
  /** The names of models that it asks for. */
  readonly models: readonly string[];
  /** The provider API that it speaks. */
  readonly speaks: 'Chat completions' | 'Responses' | 'Anthropic Messages';
  /** The login to its vendor that it sends itself: it is tried with a provider of that format alone. Absent: it has the key of the gateway. */
  readonly login?: string;
  /** It can use MCP servers. */
  readonly hasLedger: boolean;
  /** Its settings: files by path, and variables. */
  files(place: Workplace): Readonly<Record<string, string>>;
  env(place: Workplace): Readonly<Record<string, string>>;
  /** Starts a turn; the second one goes on where the first one ended. */
  command(place: Workplace, words: string, isSecond: boolean): readonly [string, ...string[]];
  /** What a model says to it. Throws a Refused when the conversation is not what it was. */
  model(files: Files, secrets: Secrets): (heard: Heard) => Saying;
}

/** `codex 0.171.0` of `@openai/codex@0.171.0`, and the like. */
export function versionsOf({ packages }: Source): string {
  return packages.map((name) => name.replace(/(?<=.)@/, ' ')).join(', ');
}
