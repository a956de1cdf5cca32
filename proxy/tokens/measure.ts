// The tokens of an answer: as the provider reported them, else estimated from the bytes that passed.
import { scanObject } from '../bytes/scan.ts';
import { estimateInput, estimateOutput, estimateStreamOutput, estimateText } from './estimate.ts';
import { findUsage } from './find-usage.ts';
import type { TokenUsage } from './token-usage.ts';
import type { UsageReader } from './usage-reader.ts';

/** The request, whose text an estimate counts. */
export interface MeasuredRequest {
  /** `embeddings`, or one that is answered with text. */
  readonly operation: string;
  readonly call: { readonly body: Buffer };
}

/** In the question, with true. */
const background = Buffer.from('"background"');
const letterT = 0x74;

/** Providers charge nothing for it. */
export function isFree(operation: string | undefined): boolean {
  return operation === 'count_tokens' || operation === 'input_tokens';
}

/** Of a JSON answer, or of as much of one as came. Undefined: it is free, or will be told later. */
export function measureBody(asked: MeasuredRequest, body: Buffer): TokenUsage | undefined {
  const told = findUsage(body);
  return told ?? (isNotEstimated(asked) ? undefined : estimated(asked, estimateOutput(body)));
}

/** The facts of a stream that has passed, or of the part that came. */
export interface PassedStream {
  readonly bytes: number;
  /** The estimated tokens of its letters beyond Latin. */
  readonly wideTokens: number;
  usage(): TokenUsage | undefined;
  events(): number;
}

/** Of an event stream, whole or not. */
export function measureStream(asked: MeasuredRequest, tap: PassedStream): TokenUsage {
  return tap.usage() ?? estimated(asked, estimateStreamOutput(tap.events(), tap.bytes, tap.wideTokens));
}

/** Of an answer that was too long to hold. Undefined: as above. */
export function measurePassing(asked: MeasuredRequest, reader: UsageReader): TokenUsage | undefined {
  const told = reader.usage();
  return (
    told ?? (isNotEstimated(asked) ? undefined : estimated(asked, estimateText(reader.bytes(), reader.wideBytes())))
  );
}

/** Of an answer whose texts were read: about so many tokens. */
export function measureText(asked: MeasuredRequest, outputTokens: number): TokenUsage {
  return estimated(asked, Math.ceil(outputTokens));
}

function isNotEstimated(asked: MeasuredRequest): boolean {
  return isFree(asked.operation) || isToldLater(asked);
}

/** A response that is made in the background tells with its end what it cost (stages/charge-background.ts). */
export function isToldLater({ operation, call: { body } }: MeasuredRequest): boolean {
  if (operation !== 'responses' || !body.includes(background)) return false;
  try {
    return scanObject(body).some(
      ({ keyStart, keyEnd, valueStart }) =>
        background.equals(body.subarray(keyStart - 1, keyEnd + 1)) && body[valueStart] === letterT,
    );
  } catch {
    return false;
  }
}

/** Embeddings are numbers, not tokens. */
function estimated(asked: MeasuredRequest, output: number): TokenUsage {
  const inputTokens = estimateInput(asked.call.body);
  const outputTokens = asked.operation === 'embeddings' ? 0 : output;
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, source: 'estimated' };
}
