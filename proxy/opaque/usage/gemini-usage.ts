// The usage of an answer in the format of Gemini.
import { readUsage } from '../../dialects/gemini/read-usage.ts';
import type { TokenUsage } from '../../tokens/token-usage.ts';
import { reportedUsage } from '../../translation/translated-usage.ts';
import { lastOf } from './end-usage.ts';

const mark = Buffer.from('"usageMetadata"');

/** `end`: of the answer, whole or streamed. */
export function geminiUsage(end: Buffer): TokenUsage | undefined {
  return lastOf(end, mark, (said) => reportedUsage(readUsage(said)));
}
