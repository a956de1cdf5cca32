// What sees the cost of an answer that passes through and is none of text: sound, images, and what Gemini's own format says.
import type { Tap } from '../answer.ts';
import { mediaPaths } from '../providers/media.ts';
import type { MediaOperation } from '../providers/row.ts';
import type { UsageSource } from '../tokens/token-usage.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import { GeminiUsage } from './gemini-usage.ts';
import { mediaUsage, spokenCharacters } from './media-usage.ts';
import { tellsUsage } from './reported-usage.ts';

const operations: ReadonlyMap<string, MediaOperation> = new Map(
  (Object.entries(mediaPaths) as [MediaOperation, string][]).map(([name, path]) => [path.slice(1), name]),
);
const isGenerating = /:(?:streamGenerateContent|generateContent)$/;

/** `body`: of the request, where all of it is there. Undefined: nothing is known of what such an answer costs. */
export function passedUsage(
  endpoint: string,
  body: Buffer | undefined,
  answer: UpstreamAnswer,
): { readonly taps: readonly Tap[]; readonly usage: UsageSource } | undefined {
  const operation = operations.get(endpoint);
  if (operation !== undefined) {
    const characters = operation === 'speech' && body !== undefined ? spokenCharacters(body) : undefined;
    const usage = mediaUsage(operation, characters, answer);
    return { taps: usage.taps, usage };
  }
  if (!isGenerating.test(endpoint) || !tellsUsage(answer)) return undefined;
  const usage = new GeminiUsage();
  return { taps: [usage], usage };
}
