// What an event of a provider says about tokens: only `response.done` does.
import { parseObject } from '../dialects/json.ts';
import { type TokenUsage, tokenUsageOf } from '../tokens/token-usage.ts';

const eventName = 'response.done';
/** Within a text of the event the quotes would be escaped. */
const mark = Buffer.from(`"${eventName}"`);
/** It holds what was said as text, never as sound. Bytes. */
const longestEvent = 4 * 1024 * 1024;

/** The tokens of a response that is over; undefined for every other event. Most are not even parsed. */
export function usageOfEvent(event: Buffer): TokenUsage | undefined {
  if (event.length > longestEvent || !event.includes(mark)) return undefined;
  const { type, response } = parseObject(event.toString()) ?? {};
  if (type !== eventName || typeof response !== 'object' || response === null) return undefined;
  return tokenUsageOf((response as Record<string, unknown>)['usage']);
}
