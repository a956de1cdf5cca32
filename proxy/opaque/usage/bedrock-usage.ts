// The usage of an answer in a format of Bedrock: Converse reports it in its members, InvokeModel in those of the model, in headers, or
// at the end of a stream.
import { readUsage } from '../../dialects/bedrock/read-usage.ts';
import { objectOf, parseObject } from '../../dialects/json/json.ts';
import type { TokenUsage } from '../../tokens/token-usage.ts';
import { reportedUsage } from '../../translation/translated-usage.ts';
import { bedrockPrefix } from '../../upstream/answer-head.ts';
import { lastOf } from './end-usage.ts';

const usageMark = Buffer.from('"usage"');
const bytesMark = Buffer.from('"bytes":"');
const quote = 0x22;
/** Names of headers, without their beginning, and what they count. */
const countNames: ReadonlyMap<string, string> = new Map([
  ['input-token-count', 'inputTokens'],
  ['output-token-count', 'outputTokens'],
  ['cache-read-input-token-count', 'cacheReadInputTokens'],
  ['cache-write-input-token-count', 'cacheWriteInputTokens'],
]);

/** `end`: of an answer of Converse, whole or streamed: a frame holds its JSON as it is. Arguments of tools, and what a guardrail cost, may be named so, too. */
export function converseUsage(end: Buffer): TokenUsage | undefined {
  return usageOf(parseObject(end.toString('utf8'))?.['usage']) ?? lastOf(end, usageMark, usageOf);
}

/** `end`: of a stream of InvokeModel. Its frames hold the words of the model in base64, and the last of them the counts. */
export function invokedStreamUsage(end: Buffer): TokenUsage | undefined {
  const at = end.lastIndexOf(bytesMark);
  const start = at + bytesMark.length;
  const stop = at === -1 ? -1 : end.indexOf(quote, start);
  if (stop === -1) return undefined;
  const said = parseObject(Buffer.from(end.toString('latin1', start, stop), 'base64').toString('utf8'));
  const metrics = objectOf(said?.['amazon-bedrock-invocationMetrics']);
  if (metrics === undefined) return undefined;
  const { inputTokenCount, outputTokenCount, cacheReadInputTokenCount, cacheWriteInputTokenCount } = metrics;
  return usageOf({
    inputTokens: inputTokenCount,
    outputTokens: outputTokenCount,
    cacheReadInputTokens: cacheReadInputTokenCount,
    cacheWriteInputTokens: cacheWriteInputTokenCount,
  });
}

/** `headers`: those with counts, names and values in turn. */
export function headerUsage(headers: readonly Buffer[]): TokenUsage | undefined {
  const counts: Record<string, number> = {};
  for (let index = 0; index < headers.length; index += 2) {
    const counted = countNames.get(String(headers[index]).slice(bedrockPrefix.length).toLowerCase());
    const value = String(headers[index + 1]);
    if (counted !== undefined && /^\d+$/.test(value)) counts[counted] = Number(value);
  }
  return usageOf(counts);
}

function usageOf(value: Parameters<typeof readUsage>[0]): TokenUsage | undefined {
  const usage = readUsage(value);
  return usage && reportedUsage(usage);
}
