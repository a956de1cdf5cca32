// The usage of an answer of the media endpoints: the tokens and seconds that its provider reports, and amounts that are billed otherwise.
import type { Answer, Tap } from '../../answer.ts';
import { parseObject, textOf } from '../../dialects/json/json.ts';
import type { MediaOperation } from '../../providers/row.ts';
import type { TokenUsage, UsageSource } from '../../tokens/token-usage.ts';
import { ImageCount } from './image-count.ts';
import { ReportedUsage, tellsUsage } from './reported-usage.ts';

/** The taps that see an answer, and what they know of it in the end. */
export interface MediaUsage extends UsageSource {
  readonly taps: readonly Tap[];
}

const imageOperations: ReadonlySet<MediaOperation> = new Set<MediaOperation>([
  'image_generations',
  'image_edits',
  'image_variations',
]);
const json = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/**
 * The usage of an answer to `operation`: the provider's report, and the number of images in it. Speech without a report
 * is billed by the `characters` of its request; the gateway counts them, so they are an estimate.
 */
export function mediaUsage(operation: MediaOperation, characters: number | undefined, answer: Answer): MediaUsage {
  const reported = tellsUsage(answer) ? new ReportedUsage() : undefined;
  const isImages = imageOperations.has(operation) && json.test(answer.contentType ?? '');
  const images = isImages && reported !== undefined ? new ImageCount() : undefined;
  return {
    taps: [reported, images].filter((tap) => tap !== undefined),
    usage() {
      const said = reported?.usage();
      if (images !== undefined && images.count > 0) return { ...(said ?? unreported), images: images.count };
      return said ?? (characters === undefined ? undefined : { ...unreported, characters });
    },
  };
}

/** The characters (code points) that a request for speech has said; undefined where it says none. */
export function spokenCharacters(body: Buffer): number | undefined {
  const input = textOf(parseObject(body.toString())?.['input']);
  if (input === undefined) return undefined;
  let characters = 0;
  for (const _ of input) characters += 1;
  return characters;
}

const unreported: TokenUsage = { inputTokens: 0, outputTokens: 0, totalTokens: 0, source: 'estimated' };
