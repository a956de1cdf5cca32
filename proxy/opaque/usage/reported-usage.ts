// The tap that reads the cost of an answer as its provider reports it. Nothing is estimated, because sound and images do not show their cost.
import type { Answer, Sink, Tap } from '../../answer.ts';
import { findUsage } from '../../tokens/find-usage.ts';
import { ReadSink } from '../../tokens/read-sink.ts';
import type { TokenUsage } from '../../tokens/token-usage.ts';
import { createUsageReader, type UsageReader } from '../../tokens/usage-reader.ts';

/** Types whose text may hold a usage object. */
const telling = /^(?:application\/(?:[\w.+-]+\+)?json|text\/event-stream)\s*(?:;|$)/i;

/** Whether an answer may say what it cost. */
export function tellsUsage({ contentType }: Pick<Answer, 'contentType'>): boolean {
  return contentType !== undefined && telling.test(contentType);
}

export class ReportedUsage implements Tap {
  #whole: Buffer | undefined;
  #reader: UsageReader | undefined;

  whole(body: Buffer): Buffer {
    this.#whole = body;
    return body;
  }

  open(next: Sink): Sink {
    this.#reader = createUsageReader();
    return new ReadSink(this.#reader, next);
  }

  awaitsMore(): boolean {
    return false;
  }

  /** Undefined: the provider has said nothing. */
  usage(): TokenUsage | undefined {
    if (this.#reader !== undefined) return this.#reader.usage();
    return this.#whole && findUsage(this.#whole);
  }
}
