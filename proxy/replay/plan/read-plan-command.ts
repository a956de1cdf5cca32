// Reads the arguments of `model-gateway plan`, and says what is wrong with them.

import { readOptions } from '../../../gitops/cli/read-options.ts';
import { parseMomentOrLength } from '../../../schemas/formats/moment-or-length.ts';
import { didYouMean } from '../../../schemas/validation/suggest.ts';
import { type PlanCondition, readFailCondition } from './fail-on.ts';

export const planFormats = ['text', 'json', 'markdown', 'github'] as const;
export type PlanFormat = (typeof planFormats)[number];

export interface PlanCommand {
  readonly directory: string;
  /** A directory or a git ref. */
  readonly against: string;
  readonly format: PlanFormat;
  /** Where the traffic is; undefined: only the change is told. */
  readonly traffic: string | undefined;
  /** The file of the salt with which names in the traffic are hashed. */
  readonly saltFile: string | undefined;
  /** Unix milliseconds; undefined: as far as the traffic goes. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly failOn: readonly PlanCondition[];
  /** What operators have set is left out. */
  readonly isWithoutOverrides: boolean;
  /** What a report calls the configuration of `against`; undefined: as it is given. */
  readonly againstName: string | undefined;
}

const options = {
  against: { type: 'string' },
  traffic: { type: 'string' },
  'salt-file': { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  format: { type: 'string' },
  'fail-on': { type: 'string' },
  'without-overrides': { type: 'boolean' },
  'against-name': { type: 'string' },
} as const;

const needs = {
  against: 'a directory, or a branch, tag or commit of git',
  traffic: 'a file, a data directory or postgresql://…',
  'salt-file': 'a file',
  since: 'a moment (2026-03-31T00:00:00Z) or a length (24h, 7d)',
  until: 'a moment (2026-03-31T00:00:00Z) or a length (24h, 7d)',
  format: 'text, json, markdown or github',
  'fail-on': 'conditions, such as "refusals > 0, cost > 5%"',
  'against-name': 'a name',
} as const;

/** The command; or a sentence without a full stop that says what is wrong with it. `nowMs`: Unix milliseconds. */
export function readPlanCommand(args: readonly string[], nowMs: number): PlanCommand | string {
  const read = readOptions(args, options, needs);
  if (typeof read === 'string') return read;
  const { given, positionals } = read;
  const [directory, another] = positionals;
  if (directory === undefined) return 'no directory is named';
  if (another !== undefined) return `only one directory is planned at a time; ${JSON.stringify(another)} is too many`;
  const format = given.get('format') ?? 'text';
  const known = planFormats.find((each) => each === format);
  if (known === undefined)
    return `the format ${JSON.stringify(format)} is unknown${didYouMean(format, planFormats)}; known are ${planFormats.join(', ')}`;
  const traffic = given.get('traffic');
  const fromMs = momentOf(given.get('since'), nowMs);
  const toMs = momentOf(given.get('until'), nowMs);
  if (typeof fromMs === 'string') return `--since ${fromMs}: it needs ${needs.since}`;
  if (typeof toMs === 'string') return `--until ${toMs}: it needs ${needs.until}`;
  const conditions = (given.get('fail-on') ?? '').split(',').filter((text) => text.trim() !== '');
  const failOn = conditions.map(readFailCondition);
  const wrong = failOn.find((each) => typeof each === 'string');
  if (wrong !== undefined) return `--fail-on: ${wrong}`;
  if (failOn.length > 0 && traffic === undefined) return '--fail-on needs traffic: name it with --traffic or --live';
  return {
    directory,
    against: given.get('against') ?? 'HEAD',
    format: known,
    traffic,
    saltFile: given.get('salt-file'),
    fromMs,
    toMs,
    failOn: failOn.filter((each) => typeof each !== 'string'),
    isWithoutOverrides: given.has('without-overrides'),
    againstName: given.get('against-name'),
  };
}

/** A text: what was given is no moment. */
function momentOf(text: string | undefined, nowMs: number): number | undefined | string {
  return text === undefined ? undefined : (parseMomentOrLength(text, nowMs) ?? `${JSON.stringify(text)} is no moment`);
}
