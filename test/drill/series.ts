// What was scraped before and during a fault, as the input of promtool: a past and a future of the same slope around it.
import { samplesOf } from '../support/promtool.ts';

/** What all processes exposed at one moment; no text: it could not be scraped. */
export type Sample = readonly { readonly job: string; readonly instance: string; readonly text: string | undefined }[];

/** Scrapes, one a second, before a fault and from its beginning on. */
export interface Recording {
  readonly before: readonly Sample[];
  readonly during: readonly Sample[];
}

/** Seconds before the fault and after it that promtool sees. One alert compares with the hour before. */
export const PAST_SECONDS = 5_400;
export const FUTURE_SECONDS = 900;
const INTERVAL_SECONDS = 5;

/** A series as promtool takes it; the fault begins at `PAST_SECONDS`. */
export interface InputSeries {
  readonly series: string;
  readonly values: string;
}

/** The series of a recording whose metric the rules name. Counters go on as fast as they did; everything else keeps its last value. */
export function seriesOf(
  { before, during }: Recording,
  rules: string,
): { interval: string; input_series: InputSeries[] } {
  const named = new Set(rules.match(/\b[a-z_]+\b/g));
  const first = before.map(valuesOf);
  const then = during.map(valuesOf);
  const names = new Set(
    [...first, ...then].flatMap((values) => [...values.keys()].filter((series) => named.has(nameOf(series)))),
  );
  const input = [...names].map((series) => {
    const isCounter = /^\w+(_total|_count|_sum|_bucket)\{/.test(series);
    return {
      series,
      values: valuesText(
        [first, then].map((part) => part.map((values) => values.get(series))),
        isCounter,
      ),
    };
  });
  return { interval: `${INTERVAL_SECONDS}s`, input_series: input };
}

function nameOf(series: string): string {
  return series.slice(0, series.indexOf('{'));
}

type Values = readonly (number | undefined)[];

function valuesText([before = [], during = []]: readonly Values[], isCounter: boolean): string {
  const past = slopeOf(before, isCounter);
  const future = slopeOf(during.slice(-Math.ceil(during.length / 2)), isCounter);
  const start = before.find((value) => value !== undefined);
  const last = during.at(-1);
  const measured = [...before, ...during].filter((_, index) => index % INTERVAL_SECONDS === 0);
  const pastSteps = Math.floor((PAST_SECONDS - before.length) / INTERVAL_SECONDS);
  const futureSteps = FUTURE_SECONDS / INTERVAL_SECONDS;
  const step = past * INTERVAL_SECONDS;
  return [
    start === undefined ? `_x${pastSteps}` : line(start - step * pastSteps, step, pastSteps - 1),
    ...measured.map((value) => (value === undefined ? '_' : String(value))),
    last === undefined
      ? `_x${futureSteps}`
      : line(last + future * INTERVAL_SECONDS, future * INTERVAL_SECONDS, futureSteps - 1),
  ].join(' ');
}

/** A value and so many further ones, each a step above the one before. */
function line(from: number, step: number, further: number): string {
  return `${from}+${step}x${further}`;
}

/** How much a counter grows in a second. */
function slopeOf(values: Values, isCounter: boolean): number {
  const known = values.filter((value) => value !== undefined);
  const [first = 0, last = first] = [known[0], known.at(-1)];
  return isCounter && known.length > 1 ? Math.max(0, (last - first) / (known.length - 1)) : 0;
}

function valuesOf(sample: Sample): Map<string, number> {
  const scraped = sample.flatMap(({ job, instance, text }) => (text === undefined ? [] : [{ job, instance, text }]));
  const missing = sample.filter(({ text }) => text === undefined);
  return new Map([
    ...missing.map(({ job, instance }) => [`up{job="${job}",instance="${instance}"}`, 0] as const),
    ...[...samplesOf(scraped)].map(([series, value]) => [series, Number(value)] as const),
  ]);
}
