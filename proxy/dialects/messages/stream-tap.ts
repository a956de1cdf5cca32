// Watches a stream of Anthropic's Messages as its bytes pass. It tells the input at its beginning, and all of the output at its end.
import { dataOf } from '../../bytes/events.ts';
import { type Counts, noCounts } from '../../tokens/counts.ts';
import { estimateStreamOutput } from '../../tokens/estimate.ts';
import { findCounts } from '../../tokens/find-usage.ts';
import { type TokenUsage, tokenUsageFrom } from '../../tokens/token-usage.ts';
import { NamedEventTap } from '../named-event-tap.ts';

const stopReason = Buffer.from('"stop_reason":"');

/** Of one stream. An `error` event ends it, too. */
export class MessagesTap extends NamedEventTap {
  protected readonly lastEvent = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
  #counts: Counts = noCounts;
  #isFinal = false;

  /** As reported; of a stream that broke off the input as reported, and an estimate of the output. */
  usage(): TokenUsage | undefined {
    this.readHeld();
    const reported = tokenUsageFrom(this.#counts);
    if (this.#isFinal || reported === undefined) return reported;
    const { inputTokens } = reported;
    if (inputTokens === 0) return undefined;
    const passed = estimateStreamOutput(this.events(), this.bytes, this.wideTokens);
    const outputTokens = Math.max(reported.outputTokens, passed);
    return { ...reported, outputTokens, totalTokens: inputTokens + outputTokens, source: 'estimated' };
  }

  protected ends(name: string): boolean {
    return name === 'message_stop' || name === 'error';
  }

  protected fails(name: string): boolean {
    return name === 'error';
  }

  /** Counts are of the whole answer so far, so a later one replaces the one before. */
  protected readUsage(event: Buffer, name: string): void {
    if (name !== 'message_start' && name !== 'message_delta') return;
    this.hasReason ||= name === 'message_delta' && event.includes(stopReason);
    const said = findCounts(Buffer.from(dataOf(event)));
    if (said === undefined) return;
    const before = this.#counts;
    this.#counts = {
      ...noCounts,
      input: later(before.input, said.input),
      output: later(before.output, said.output),
      cacheRead: later(before.cacheRead, said.cacheRead),
      cacheWrite: later(before.cacheWrite, said.cacheWrite),
      hourCacheWrite: later(before.hourCacheWrite, said.hourCacheWrite),
      reasoning: later(before.reasoning, said.reasoning),
    };
    this.#isFinal ||= name === 'message_delta' && said.output !== undefined;
  }

  /** No event that reports is long. */
  protected readLong(): void {}
}

/** Some servers give 0 for what they do not know yet, or not any more. */
function later(before: number | undefined, said: number | undefined): number | undefined {
  return said || (before ?? said);
}
