// What a translated stream asks for when its target breaks off: another target that goes on.
import type { Failure } from '../../answer.ts';
import type { ConversationUsage } from '../../dialects/conversation/conversation.ts';
import type { StreamFailure } from '../../dialects/conversation/stream-event.ts';
import type { ErrorCode } from '../../errors.ts';
import type { RescueOutcome } from '../../tallies/rescue-tally.ts';
import type { MeasuredRequest } from '../../tokens/measure.ts';
import type { TokenUsage } from '../../tokens/token-usage.ts';
import type { Translated } from '../translated.ts';
import type { JoinedStream } from './joined-stream.ts';
import type { Seam } from './seam.ts';

/** How a target broke off. */
export interface Broken {
  readonly failure: Failure;
  /** The words of an error that it told; undefined: it told none. */
  readonly words: StreamFailure | undefined;
  /** Its usage so far. */
  readonly usage: TokenUsage;
}

/** Another target, whose answer has begun. */
export interface Successor {
  readonly translated: Translated;
  /** Undefined: nothing was said before. */
  readonly seam: Seam | undefined;
  /** What it was asked. */
  readonly asked: MeasuredRequest;
  /** Lets its bytes flow to where those of the target before went. */
  begin(): void;
}

export interface Rescuing {
  readonly joined: JoinedStream;
  /** Takes what broke off away and asks others. Undefined: none goes on. Never rejects. */
  goOn(broken: Broken): Promise<Successor | undefined>;
  /** What was asked for is of no use any more. */
  leave(): void;
  /** A target broke off, and this became of it. */
  note(outcome: RescueOutcome): void;
}

/** Breaks that are the provider's; after others no target goes on. */
const ofProvider: ReadonlySet<ErrorCode> = new Set([
  'stream_incomplete',
  'upstream_disconnected',
  'upstream_invalid_response',
  'upstream_timeout',
]);

/** Whether another target may help. */
export function isOfProvider({ code }: Failure): boolean {
  return ofProvider.has(code);
}

/** The usage of a target, in the words of a client's answer. */
export function spentOf(usage: TokenUsage): ConversationUsage {
  return {
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    ...(usage.cachedInputTokens === undefined ? {} : { cachedTokens: usage.cachedInputTokens }),
    ...(usage.cacheWriteTokens === undefined ? {} : { cacheWriteTokens: usage.cacheWriteTokens }),
    ...(usage.reasoningTokens === undefined ? {} : { reasoningTokens: usage.reasoningTokens }),
  };
}
