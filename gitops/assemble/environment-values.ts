// Reads the forms that values of SET_* variables have in common: pairs such as `rpm=60,tpm=1000`, and JSON lists. No sentence quotes the value.

import type { Sentence } from '../../schemas/validation/explain.ts';
import { formatPath, type Path } from '../../schemas/validation/path.ts';
import { valueAt } from '../../schemas/validation/value-at.ts';
import { parseFlag, type Variables } from '../../schemas/variables.ts';
import { type Problem, problemOfFile } from '../read/problem.ts';
import { readJson } from '../read/read-json.ts';

/** A problem at one place of the value. */
export interface Misreading {
  /** The number of characters before this place in the value. */
  offset: number;
  /** Place in the JSON list, such as `[0].max_requests`; empty in the compact form. */
  path: string;
  message: string;
}

/** The most problems that are reported for one variable. */
const enough = 20;

/** Misreadings of the value of a variable as problems: each stops a start. */
export function problemsOfValue(variable: string, text: string, found: readonly Misreading[]): Problem[] {
  return found.slice(0, enough).map(({ offset, path, message }) => {
    const lines = text.slice(0, offset).split('\n');
    const column = (lines.at(-1)?.length ?? 0) + 1;
    return { file: variable, line: lines.length, column, path, message, fatal: true };
  });
}

/** The value of a switch; undefined when it is unset. Anything but true and false is a problem. */
export function readSwitch(variables: Variables, variable: string, problems: Problem[]): boolean | undefined {
  const text = variables[variable] || undefined;
  const flag = text === undefined ? undefined : parseFlag(text);
  if (text !== undefined && flag === undefined) {
    problems.push({ ...problemOfFile(variable, 'must be true or false'), fatal: true });
  }
  return flag;
}

/** Takes one pair. Gives what is wrong with it: with its name, or `at` characters into its value. */
export type TakePair = (name: string, written: string) => { message: string; at?: number } | undefined;

/** Reads pairs separated by commas, semicolons or line breaks. `example` ends the sentences about what is none. */
export function readPairs(text: string, example: string, take: TakePair): Misreading[] {
  const start = blanksBefore(text);
  if (start === text.length) return [{ offset: 0, path: '', message: `is blank; ${example}` }];
  const problems: Misreading[] = [];
  for (const { 0: pair, index } of text.trim().matchAll(/[^,;\n]+|(?<=[,;\n]|^)(?=[,;\n]|$)/g)) {
    const { message, at = 0 } = takePair(pair.trim()) ?? {};
    if (message !== undefined) problems.push({ offset: start + index + blanksBefore(pair) + at, path: '', message });
  }
  return problems;

  function takePair(pair: string): ReturnType<TakePair> {
    if (pair === '') return { message: `has nothing between two separators; ${example}` };
    const equals = pair.indexOf('=');
    const separator = equals === -1 ? pair.indexOf(':') : equals;
    if (separator === -1) return { message: `is not a pair of a name and a number; ${example}` };
    const written = pair.slice(separator + 1);
    const { message, at } = take(pair.slice(0, separator).trim(), written.trim()) ?? {};
    if (message === undefined) return undefined;
    return at === undefined ? { message } : { message, at: separator + 1 + blanksBefore(written) + at };
  }
}

function blanksBefore(text: string): number {
  return text.length - text.trimStart().length;
}

/** How a JSON list is read. */
export interface ListForm<Entry> {
  /** Writes the defaults into a valid list. */
  readonly validate: (value: unknown) => { limits?: readonly Entry[]; sentences: readonly Sentence[] };
  /** Two entries of one period are a mistake. */
  readonly secondsOf: (entry: Entry) => number;
  /** The sentence about a value that is no list. */
  readonly notAList: string;
  /** Why per_child cannot be true; undefined: it can. */
  readonly templateProblem: string | undefined;
}

/** Reads a JSON list. Complete only when there are no problems. */
export function readJsonList<Entry>(
  text: string,
  { validate, secondsOf, notAList, templateProblem }: ListForm<Entry>,
): { entries: readonly Entry[]; problems: Misreading[] } {
  const json = readJson(text);
  if ('problem' in json) return { entries: [], problems: [{ offset: json.offset, path: '', message: json.problem }] };
  const { value, offsetOf } = json;
  if (!Array.isArray(value)) {
    return { entries: [], problems: [{ offset: offsetOf([]) ?? 0, path: '', message: notAList }] };
  }
  const problems = findTemplates(value);
  const { limits = [], sentences } = validate(value);
  for (const { path, part, message } of sentences) {
    // An unknown key is part of the secret value, so the path that is shown ends before it.
    problems.push({ ...at(path, part), path: formatPath(part === 'key' ? path.slice(0, -1) : path), message });
  }
  problems.push(...findTwins(limits));
  return { entries: limits, problems };

  function at(path: Path, part?: 'key' | 'value'): Omit<Misreading, 'message'> {
    return { offset: offsetOf(path, part) ?? offsetOf(path.slice(0, -1)) ?? 0, path: formatPath(path) };
  }

  function findTemplates(list: readonly unknown[]): Misreading[] {
    return list.flatMap((entry, index) => {
      if (valueAt(entry, ['per_child']) !== true || templateProblem === undefined) return [];
      return [{ ...at([index, 'per_child']), message: templateProblem }];
    });
  }

  function findTwins(list: readonly Entry[]): Misreading[] {
    const seen = new Map<number, number>();
    return list.flatMap((entry, index) => {
      const seconds = secondsOf(entry);
      const first = seen.get(seconds);
      seen.set(seconds, first ?? index);
      if (first === undefined) return [];
      return [{ ...at([index]), message: `limits the same period as entry [${first}]; keep one of the two` }];
    });
  }
}
