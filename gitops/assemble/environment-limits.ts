// Reads the limits in the value of a SET_* variable: `rpm=60,tpm=1000`, or a JSON list. No sentence quotes the value.
import { type NamedPeriod, periodSeconds } from '../../domain/rules/period.ts';
import type { Limit } from '../../schemas/types.ts';
import { validateLimitList } from '../read/validate.ts';
import { type Misreading, readJsonList, readPairs } from './environment-values.ts';

/** A limit of a variable. A template gives every direct child of the path its own counters. */
export interface GivenLimit {
  limit: Limit;
  perChild: boolean;
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
  return /^\s*[[{]/.test(text) ? readList(text, templateProblem) : readCompact(text);
}

function readCompact(text: string): LimitsReading {
  const limits = new Map<NamedPeriod, Limit>();
  const problems = readPairs(text, example, (name, written) => {
    const meaning = compact.get(name.toLowerCase());
    if (meaning === undefined)
      return { message: `${name === '' ? 'lacks a' : 'has an unknown'} name; known are ${names}` };
    const [period, cap] = meaning;
    const limit: Limit = limits.get(period) ?? { period, mode: 'enforce' };
    if (limit[cap] !== undefined) return { message: `gives ${name} a second time` };
    const number = /^[1-9][0-9]{0,15}$/.test(written) ? Number(written) : Number.NaN;
    limit[cap] = number;
    limits.set(period, limit);
    if (Number.isSafeInteger(number)) return undefined;
    return { message: `needs a whole number from 1 to ${Number.MAX_SAFE_INTEGER} after ${name}=`, at: 0 };
  });
  return { limits: [...limits.values()].map((limit) => ({ limit, perChild: false })), problems };
}

function readList(text: string, templateProblem: string | undefined): LimitsReading {
  const { entries, problems } = readJsonList(text, {
    validate: validateLimitList,
    secondsOf: periodSeconds,
    notAList: 'must be a list of limits: [{"period":"minute","max_requests":60}]',
    templateProblem,
  });
  return { limits: entries.map(({ per_child: perChild, ...limit }) => ({ limit, perChild })), problems };
}
