// Measures the usage of a passed answer that is not text: sound, images, and the own formats of Gemini and Bedrock.
import type { Tap } from '../../answer.ts';
import { type MediaOperation, mediaPaths } from '../../providers/row.ts';
import type { TokenUsage, UsageSource } from '../../tokens/token-usage.ts';
import type { UpstreamAnswer } from '../../upstream/upstream-answer.ts';
import { converseUsage, headerUsage, invokedStreamUsage } from './bedrock-usage.ts';
import { EndUsage } from './end-usage.ts';
import { geminiUsage } from './gemini-usage.ts';
import { mediaUsage, spokenCharacters } from './media-usage.ts';
import { ReportedUsage, tellsUsage } from './reported-usage.ts';

const operations: ReadonlyMap<string, MediaOperation> = new Map(
  (Object.entries(mediaPaths) as [MediaOperation, string][]).map(([name, path]) => [path.slice(1), name]),
);
const isGenerating = /:(?:streamGenerateContent|generateContent)$/i;
const ofBedrock = /^model\/.+\/(converse|invoke)(-stream|-with-response-stream)?$/;

interface PassedUsage {
  readonly taps: readonly Tap[];
  readonly usage: UsageSource;
}

/** `body`: of the request, where all of it is there. Undefined: nothing is known of what such an answer costs. */
export function passedUsage(
  endpoint: string,
  body: Buffer | undefined,
  answer: UpstreamAnswer,
): PassedUsage | undefined {
  const operation = operations.get(endpoint.toLowerCase());
  if (operation !== undefined) {
    const characters = operation === 'speech' && body !== undefined ? spokenCharacters(body) : undefined;
    const usage = mediaUsage(operation, characters, answer);
    return { taps: usage.taps, usage };
  }
  if (isGenerating.test(endpoint)) return tellsUsage(answer) ? atEnd(geminiUsage) : undefined;
  const [, kind] = ofBedrock.exec(endpoint) ?? [];
  return kind === undefined ? undefined : usageOfBedrock(kind, answer);
}

function usageOfBedrock(kind: string, answer: UpstreamAnswer): PassedUsage | undefined {
  const { isBinary, bedrockCounts = [] } = answer.head;
  if (kind === 'converse') return atEnd(converseUsage);
  if (isBinary) return atEnd(invokedStreamUsage);
  const reported = new ReportedUsage();
  return { taps: [reported], usage: { usage: () => reported.usage() ?? headerUsage(bedrockCounts) } };
}

function atEnd(read: (end: Buffer) => TokenUsage | undefined): PassedUsage {
  const usage = new EndUsage(read);
  return { taps: [usage], usage };
}
