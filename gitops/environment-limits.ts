// Reads the limits in the value of a SET_* variable: `rpm=60,tpm=1000`, or a JSON list. No sentence quotes the value.
import { type NamedPeriod, periodSeconds } from '../schemas/rules/period.ts';
import type { Limit } from '../schemas/types.ts';
import { formatPath, type Path } from '../schemas/validation/path.ts';
import { valueAt } from '../schemas/validation/value-at.ts';
import { readJson } from './read-json.ts';
import { validateLimitList } from './validate.ts';

/** A limit of a variable. A template gives every direct child of the path its own counters. */
export interface GivenLimit {
  limit: Limit;
  perChild: boolean;
}

/** A problem at one place of the value. */
export interface Misreading {
  /** The number of characters before this place in the value. */
  offset: number;
  /** Place in the JSON list, such as `[0].max_requests`; empty in the compact form. */
  path: string;
  message: string;
}

export interface LimitsReading {
  /** Complete only when there are no problems. */
  limits: GivenLimit[];
  problems: Misreading[];
}

type CapName = 'max_requests' | 'max_tokens';

/** The compact names (spec, Environment variables), and a longer spelling of the last one. */
const compact = new Map<string, readonly [NamedPeriod, CapName]>([
  ['rpm', ['minute', 'max_requests']],
  ['tpm', ['minute', 'max_tokens']],
  ['rph', ['hour', 'max_requests']],
  ['tph', ['hour', 'max_tokens']],
  ['rpd', ['day', 'max_requests']],
  ['tpd', ['day', 'max_tokens']],
  ['concurrent', ['concurrent', 'max_requests']],
  ['concurrency', ['concurrent', 'max_requests']],
]);
const names = 'rpm, tpm, rph, tph, rpd, tpd and concurrent';
const example = 'write pairs such as rpm=60,tpm=100000';

/**
 * Reads a value that is not empty. A bracket begins JSON, anything else is a list of pairs separated by commas, semicolons or line
 * breaks; the names of pairs in any letter case. `templateProblem` says why per_child cannot be true, where it cannot.
 */
export function readLimits(text: string, templateProblem: string | undefined): LimitsReading {
  return /^\s*[[{]/.test(text) ? readList(text, templateProblem) : readPairs(text);
}

function readPairs(text: string): LimitsReading {
  const start = blanksBefore(text);
  if (start === text.length)
    return { limits: [], problems: [{ offset: 0, path: '', message: `is blank; ${example}` }] };
  const limits = new Map<NamedPeriod, Limit>();
  const problems: Misreading[] = [];
  for (const { 0: pair, index } of text.trim().matchAll(/[^,;\n]+|(?<=[,;\n]|^)(?=[,;\n]|$)/g)) {
    const { message, at = 0 } = takePair(pair.trim()) ?? {};
    if (message !== undefined) problems.push({ offset: start + index + blanksBefore(pair) + at, path: '', message });
  }
  return { limits: [...limits.values()].map((limit) => ({ limit, perChild: false })), problems };

  /** The problem of a pair, and its place in the pair. */
  function takePair(pair: string): { message: string; at?: number } | undefined {
    if (pair === '') return { message: `has nothing between two separators; ${example}` };
    const equals = pair.indexOf('=');
    const separator = equals === -1 ? pair.indexOf(':') : equals;
    if (separator === -1) return { message: `is not a pair of a name and a number; ${example}` };
    const name = pair.slice(0, separator).trim();
    const meaning = compact.get(name.toLowerCase());
    if (meaning === undefined)
      return { message: `${name === '' ? 'lacks a' : 'has an unknown'} name; known are ${names}` };
    const [period, cap] = meaning;
    const limit: Limit = limits.get(period) ?? { period, mode: 'enforce' };
    if (limit[cap] !== undefined) return { message: `gives ${name} a second time` };
    const written = pair.slice(separator + 1);
    const number = /^[1-9][0-9]{0,15}$/.test(written.trim()) ? Number(written) : Number.NaN;
    limit[cap] = number;
    limits.set(period, limit);
    if (Number.isSafeInteger(number)) return undefined;
    const message = `needs a whole number from 1 to ${Number.MAX_SAFE_INTEGER} after ${name}=`;
    return { message, at: separator + 1 + blanksBefore(written) };
  }
}

function blanksBefore(text: string): number {
  return text.length - text.trimStart().length;
}

function readList(text: string, templateProblem: string | undefined): LimitsReading {
  const json = readJson(text);
  if ('problem' in json) return { limits: [], problems: [{ offset: json.offset, path: '', message: json.problem }] };
  const { value, offsetOf } = json;
  if (!Array.isArray(value)) {
    const message = 'must be a list of limits: [{"period":"minute","max_requests":60}]';
    return { limits: [], problems: [{ offset: offsetOf([]) ?? 0, path: '', message }] };
  }
  const problems = findTemplates(value);
  const { limits = [], sentences } = validateLimitList(value);
  for (const { path, part, message } of sentences) {
    // An unknown key is part of the secret value, so the path that is shown ends before it.
    problems.push({ ...at(path, part), path: formatPath(part === 'key' ? path.slice(0, -1) : path), message });
  }
  problems.push(...findTwins(limits));
  return { limits: limits.map(({ per_child: perChild, ...limit }) => ({ limit, perChild })), problems };

  function at(path: Path, part?: 'key' | 'value'): Omit<Misreading, 'message'> {
    return { offset: offsetOf(path, part) ?? offsetOf(path.slice(0, -1)) ?? 0, path: formatPath(path) };
  }

  function findTemplates(list: readonly unknown[]): Misreading[] {
    return list.flatMap((entry, index) => {
      if (valueAt(entry, ['per_child']) !== true || templateProblem === undefined) return [];
      return [{ ...at([index, 'per_child']), message: templateProblem }];
    });
  }

  function findTwins(list: readonly Limit[]): Misreading[] {
    const seen = new Map<number, number>();
    return list.flatMap((limit, index) => {
      const seconds = periodSeconds(limit);
      const first = seen.get(seconds);
      seen.set(seconds, first ?? index);
      if (first === undefined) return [];
      return [{ ...at([index]), message: `limits the same period as entry [${first}]; keep one of the two` }];
    });
  }
}
