// Watches a stream of OpenAI's Responses as its bytes pass. Its last event holds the whole answer, and the usage in it.
import { dataOf } from '../../bytes/events.ts';
import { scanObject } from '../../bytes/scan.ts';
import { findUsage } from '../../tokens/find-usage.ts';
import type { TokenUsage } from '../../tokens/token-usage.ts';
import { createUsageReader, type UsageReader } from '../../tokens/usage-reader.ts';
import { NamedEventTap } from '../named-event-tap.ts';

const lastEvents = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** Of one stream. An `error` event ends it, too. */
export class ResponsesTap extends NamedEventTap {
  /** It holds the answer, and nothing else tells that this is complete. */
  protected readonly lastEvent = '';
  #usage: TokenUsage | undefined;
  /** Reads a last event too long to be held. */
  #long: UsageReader | undefined;

  usage(): TokenUsage | undefined {
    this.readHeld();
    return this.#usage ?? this.#long?.usage();
  }

  protected ends(name: string): boolean {
    return lastEvents.has(name) || name === 'error';
  }

  protected fails(name: string): boolean {
    return name === 'error' || name === 'response.failed';
  }

  protected readUsage(event: Buffer, name: string): void {
    if (lastEvents.has(name)) this.#usage = usageIn(Buffer.from(dataOf(event))) ?? this.#usage;
  }

  protected readLong(piece: Buffer, name: string): void {
    if (!lastEvents.has(name)) return;
    this.#long ??= createUsageReader();
    this.#long.push(piece);
  }
}

/** The usage of the answer in an event; tools and texts beside it may have members of that name. */
function usageIn(data: Buffer): TokenUsage | undefined {
  try {
    const members = scanObject(data);
    const answer = members.find(({ keyStart, keyEnd }) => data.toString('latin1', keyStart, keyEnd) === 'response');
    return findUsage(answer === undefined ? data : data.subarray(answer.valueStart, answer.valueEnd));
  } catch {
    return undefined;
  }
}
