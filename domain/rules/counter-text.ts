// The counts of a window as they are stored: a short text, because with many rules in use one is written for each request.
import type { CounterRow, Pair } from './counter-row.ts';

/** Epoch, period in seconds, requests and tokens. */
const parts = /^(\d+) (\d+) ([\d:,]*) ([\d:,]*)$/;

/** The counts of slices that follow each other, from the first one on; none: nothing is counted. */
export interface Lane {
  readonly first: number;
  readonly counts: readonly number[];
}

/** The counts of a row, such as `0 60 29384756:3,1,0,2 `; rule key and child are stored beside them. */
export function encodeCounts(
  { epoch, periodSeconds }: Pick<CounterRow, 'epoch' | 'periodSeconds'>,
  requests: Lane,
  tokens: Lane,
): string {
  return `${epoch} ${periodSeconds} ${laneText(requests)} ${laneText(tokens)}`;
}

function laneText({ first, counts }: Lane): string {
  return counts.length === 0 ? '' : `${first}:${counts.join(',')}`;
}

/** The row, or undefined when the text is neither what `encodeCounts` writes nor the JSON that older versions have written. */
export function decodeCounts(key: string, child: string, text: string): CounterRow | undefined {
  const [, epochText, periodText, requestsText = '', tokensText = ''] = parts.exec(text) ?? [];
  if (epochText === undefined) return rowOfJson(key, child, text);
  const [epoch, periodSeconds] = [Number(epochText), Number(periodText)];
  const [requests, tokens] = [pairsIn(requestsText), pairsIn(tokensText)];
  if (requests === undefined || tokens === undefined) return undefined;
  if (!isCount(epoch) || !isCount(periodSeconds) || periodSeconds === 0) return undefined;
  return { key, epoch, child, periodSeconds, requests, tokens };
}

/** Undefined for what is no lane. */
function pairsIn(lane: string): Pair[] | undefined {
  if (lane === '') return [];
  const [first = '', list = '', ...more] = lane.split(':');
  if (first === '' || more.length > 0) return undefined;
  const pairs: Pair[] = [];
  for (const [index, text] of list.split(',').entries()) {
    const [slice, count] = [Number(first) + index, Number(text)];
    if (text === '' || !isCount(slice) || !isCount(count)) return undefined;
    if (count > 0) pairs.push([slice, count]);
  }
  return pairs;
}

interface JsonCounts {
  readonly epoch: number;
  readonly period_seconds: number;
  readonly requests: readonly Pair[];
  readonly tokens: readonly Pair[];
}

function rowOfJson(key: string, child: string, text: string): CounterRow | undefined {
  const counts = parseObject(text);
  if (counts === undefined || !isCounts(counts)) return undefined;
  const { epoch, period_seconds: periodSeconds, requests, tokens } = counts;
  return { key, epoch, child, periodSeconds, requests, tokens };
}

function parseObject(text: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function isCounts(counts: Partial<Record<keyof JsonCounts, unknown>>): counts is JsonCounts {
  const { epoch, period_seconds: periodSeconds, requests, tokens } = counts;
  return isCount(epoch) && isCount(periodSeconds) && periodSeconds > 0 && isPairs(requests) && isPairs(tokens);
}

function isPairs(value: unknown): value is Pair[] {
  return Array.isArray(value) && value.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(isCount));
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
