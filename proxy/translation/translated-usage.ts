// The usage of a translated answer: as the provider reported it, else estimated from the texts that passed.
import type { ConversationAnswer, ConversationUsage } from '../dialects/conversation/conversation.ts';
import type { StreamEvent } from '../dialects/conversation/stream-event.ts';
import { type Counts, noCounts } from '../tokens/counts.ts';
import { type MeasuredRequest, measureText } from '../tokens/measure.ts';
import { type TokenUsage, tokenUsageFrom } from '../tokens/token-usage.ts';

/** Watches the events of an answer, and says what they cost. */
export class TranslatedUsage {
  #asked: MeasuredRequest;
  #usage: ConversationUsage | undefined;
  /** The usage is that of the whole answer, not of what had come when it was reported. */
  #isFinal = false;
  #textBytes = 0;
  #events = 0;
  #hasOpenPart = false;
  #isBroken = false;
  #hasParts = false;

  constructor(asked: MeasuredRequest) {
    this.#asked = asked;
  }

  /** The target broke off: nothing more comes of it. */
  breakOff(): void {
    this.#isBroken = true;
  }

  /** Another target tells the rest: what it was asked, and what it says, are counted from here on. */
  restart(asked: MeasuredRequest): void {
    this.#asked = asked;
    this.#usage = undefined;
    this.#isFinal = false;
    this.#textBytes = 0;
    this.#events = 0;
    this.#hasOpenPart = false;
    this.#hasParts = false;
    this.#isBroken = false;
  }

  note(event: StreamEvent): void {
    if (event.kind === 'usage') {
      this.#usage = event.usage;
      this.#isFinal = this.#isSaid;
    } else if (event.kind === 'finished') this.#isFinal = true;
    else if (event.kind === 'opened') {
      this.#hasOpenPart = true;
      this.#hasParts = true;
    } else if (event.kind === 'closed') this.#hasOpenPart = false;
    else if (event.kind === 'delta' && 'text' in event.delta) {
      this.#events += 1;
      this.#textBytes += Buffer.byteLength(event.delta.text);
    }
  }

  noteAnswer({ usage, parts }: ConversationAnswer): void {
    this.#usage = usage;
    this.#isFinal = true;
    for (const part of parts) {
      if ('text' in part) this.#textBytes += Buffer.byteLength(part.text);
      else if (part.kind === 'tool_call') this.#textBytes += Buffer.byteLength(part.input);
    }
  }

  /** Everything was said, and what it cost may come next. */
  get awaitsUsage(): boolean {
    return !this.#isFinal && !this.#isBroken && this.#isSaid;
  }

  /** As reported; of a stream that broke off the input as reported, and no less output than has passed. */
  usage(): TokenUsage {
    const reported = this.#usage && reportedUsage(this.#usage);
    if (reported !== undefined && this.#isFinal) return reported;
    const passed = measureText(this.#asked, Math.max(this.#events, this.#textBytes / 4));
    if (reported === undefined || reported.inputTokens === 0) return passed;
    const { inputTokens } = reported;
    const outputTokens = Math.max(reported.outputTokens, passed.outputTokens);
    return { ...reported, outputTokens, totalTokens: inputTokens + outputTokens, source: 'estimated' };
  }

  get #isSaid(): boolean {
    return this.#hasParts && !this.#hasOpenPart;
  }
}

/** The reported usage of a whole answer, in tokens; undefined when it has no valid counts. */
export function reportedUsage(usage: ConversationUsage): TokenUsage | undefined {
  return tokenUsageFrom(countsOf(usage));
}

function countsOf(usage: ConversationUsage): Counts {
  return {
    ...noCounts,
    input: usage.inputTokens,
    output: usage.outputTokens,
    total: usage.totalTokens,
    cached: usage.cachedTokens,
    written: usage.cacheWriteTokens,
    hourCacheWrite: usage.hourCacheWriteTokens,
    audioInput: usage.audioInputTokens,
    cachedAudio: usage.cachedAudioTokens,
    reasoning: usage.reasoningTokens,
    audioOutput: usage.audioOutputTokens,
  };
}
