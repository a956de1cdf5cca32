// Conditions under which a command fails a pipeline: a few names, each compared with a number, a share or a length of time. Pure.
import { retentionMs } from '../../schemas/formats/units.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';

/** What a name is compared by. */
export interface Measure<Of> {
  readonly amount: (of: Of) => number;
  /** For a limit with %: from 0 to 1. Absent: it has no share. */
  readonly share?: (of: Of) => number;
  /** The amount is a time in milliseconds: a limit is such as 12h or 7d. */
  readonly isTime?: true;
}
export type Measures<Of> = Readonly<Record<string, Measure<Of>>>;

export interface FailCondition<Of> {
  readonly text: string;
  /** Whether it holds, and what was found. */
  readonly check: (of: Of) => { readonly holds: boolean; readonly found: string };
}

const form = /^\s*([a-z]+)\s*(?:(>=|>)\s*(?:(\d+(?:\.\d+)?)\s*(%?)|(\d+[smhd])))?\s*$/;

/** Such as `refusals > 0`, `cost > 5%`, `age > 7d`, or a name alone, which means above 0; or what is wrong with it, as a sentence without a full stop. */
export function readCondition<Of>(text: string, measures: Measures<Of>): FailCondition<Of> | string {
  const [, name = '', operator = '>', number = '0', percent = '', length] = form.exec(text) ?? [];
  const names = Object.keys(measures);
  if (name === '')
    return `${JSON.stringify(text)} is no condition: write a name, > or >=, and a number, such as ${JSON.stringify(exampleOf(measures))}`;
  const measure = Object.hasOwn(measures, name) ? measures[name] : undefined;
  if (measure === undefined)
    return `${JSON.stringify(name)} is unknown${didYouMean(name, names)}; known are ${names.join(', ')}`;
  const { amount, share, isTime = false } = measure;
  if (isTime ? percent !== '' || (length === undefined && number !== '0') : length !== undefined)
    return `${JSON.stringify(text)} compares ${name} with ${isTime ? 'no length of time: write such as 12h or 7d' : 'a length of time: write a number'}`;
  if (percent === '%' && share === undefined) return `${JSON.stringify(text)}: ${name} has no share; write a number`;
  const limit = length === undefined ? Number(number) : retentionMs(length);
  return {
    text: text.trim(),
    check(of) {
      const found = percent === '%' ? 100 * (share?.(of) ?? 0) : amount(of);
      const holds = operator === '>' ? found > limit : found >= limit;
      return { holds, found: isTime ? sayLength(found) : `${Number(found.toFixed(2))}${percent}` };
    },
  };
}

/** The conditions of an option, with commas between; or what is wrong with the first one that is none. */
export function readConditions<Of>(text: string, measures: Measures<Of>): readonly FailCondition<Of>[] | string {
  const read = text
    .split(',')
    .filter((each) => each.trim() !== '')
    .map((each) => readCondition(each, measures));
  const wrong = read.find((each) => typeof each === 'string');
  return wrong ?? read.filter((each) => typeof each !== 'string');
}

/** Milliseconds as people say them: `9 d`, `5 h`, `40 min`, `12 s`. */
export function sayLength(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000));
  const [length, unit] = (
    [
      [86_400, 'd'],
      [3_600, 'h'],
      [60, 'min'],
    ] as const
  ).find(([size]) => seconds >= size) ?? [1, 's'];
  return `${Math.floor(seconds / length)} ${unit}`;
}

function exampleOf<Of>(measures: Measures<Of>): string {
  const [first] = Object.entries(measures);
  return first === undefined ? '' : `${first[0]} > ${first[1].isTime === true ? '7d' : '0'}`;
}
