// Reads and limits the retry headers of a provider's error.
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { AnswerHead } from './answer-head.ts';

/** A day: no client keeps a request for longer. */
const longestSeconds = 86_400;
const number = /^\d{1,15}(\.\d{1,9})?$/;
const httpDate = /^[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) GMT$/;
const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/**
 * The headers to relay: `retry-after` in whole seconds and `retry-after-ms` in whole milliseconds, both rounded up, at least 1 and at most
 * a day, with 429 and 503; `x-should-retry` (true or false) with any error. A date (RFC 9110 5.6.7) counts from `nowMs`, in Unix
 * milliseconds. Nonsense is left out. `bodyWaitMs`: the wait that the body names; it counts where the headers name none.
 */
export function retryHeaders(
  head: AnswerHead,
  status: number,
  nowMs: () => number,
  bodyWaitMs?: number,
): Record<string, string> {
  const headers: Record<string, string> = {};
  const { shouldRetry, retryAfter, retryAfterMs } = head;
  if (shouldRetry === 'true' || shouldRetry === 'false') headers['x-should-retry'] = shouldRetry;
  if (status !== 429 && status !== 503) return headers;
  const seconds = retryAfter === undefined ? undefined : secondsOf(retryAfter, nowMs());
  if (seconds !== undefined) headers['retry-after'] = within(seconds, longestSeconds);
  if (retryAfterMs !== undefined && number.test(retryAfterMs)) {
    headers['retry-after-ms'] = within(Number(retryAfterMs), longestSeconds * 1000);
  }
  const isSilent = headers['retry-after'] === undefined && headers['retry-after-ms'] === undefined;
  if (isSilent && bodyWaitMs !== undefined) headers['retry-after'] = within(bodyWaitMs / 1000, longestSeconds);
  return headers;
}

/** How long a provider asks to be left alone, the more exact header first; undefined when it does not say. Milliseconds, from `nowMs` on. */
export function askedWaitMs({ retryAfter, retryAfterMs }: AnswerHead, nowMs: number): number | undefined {
  if (retryAfterMs !== undefined && number.test(retryAfterMs)) return Number(retryAfterMs);
  const seconds = retryAfter === undefined ? undefined : secondsOf(retryAfter, nowMs);
  return seconds === undefined ? undefined : Math.max(seconds * 1000, 0);
}

function secondsOf(text: string, nowMs: number): number | undefined {
  if (number.test(text)) return Number(text);
  const [, day, month = '', year, time] = httpDate.exec(text) ?? [];
  if (day === undefined) return undefined;
  const moment = parseMoment(`${year}-${String(months.indexOf(month) + 1).padStart(2, '0')}-${day}T${time}Z`);
  return moment === undefined ? undefined : (moment - nowMs) / 1000;
}

function within(value: number, most: number): string {
  return String(Math.min(Math.max(Math.ceil(value), 1), most));
}
