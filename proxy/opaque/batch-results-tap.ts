// The tap of the results of a batch of messages: each line tells what its request has used.
import type { Failure, Sink, Tap } from '../answer.ts';
import { HeldBytes } from '../bytes/held-bytes.ts';
import { objectOf, parseObject, textOf } from '../dialects/json.ts';
import { sumUsage } from '../tokens/sum-usage.ts';
import { type TokenUsage, tokenUsageOf } from '../tokens/token-usage.ts';

const newline = 0x0a;
/** A longer line is no result. Bytes. */
const longestLine = 4 * 1024 * 1024;
/** More models than one batch has; further ones are not told apart. */
const mostModels = 64;

/** What requests of one model have used. */
export interface ModelUsage {
  readonly model: string;
  readonly usage: TokenUsage;
}

export class BatchResultsTap implements Tap {
  readonly #done: (used: readonly ModelUsage[]) => void;
  readonly #used = new Map<string, TokenUsage>();
  readonly #line = new HeldBytes();

  /** `done` is called when all results have passed. */
  constructor(done: (used: readonly ModelUsage[]) => void) {
    this.#done = done;
  }

  whole(body: Buffer): Buffer {
    this.#read(body);
    this.#end();
    return body;
  }

  open(next: Sink): Sink {
    return {
      write: (chunk: Buffer): boolean => {
        this.#read(chunk);
        return next.write(chunk);
      },
      end: (failure: Failure | undefined): void => {
        if (failure === undefined) this.#end();
        next.end(failure);
      },
    };
  }

  awaitsMore(): boolean {
    return false;
  }

  #read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#hold(chunk.subarray(start, end));
      this.#take(this.#line.take());
      start = end + 1;
    }
    this.#hold(chunk.subarray(start));
  }

  /** Copied: the bytes of a chunk are used again. */
  #hold(piece: Buffer): void {
    if (this.#line.length + piece.length <= longestLine) this.#line.add(Buffer.from(piece));
  }

  #end(): void {
    this.#take(this.#line.take());
    this.#done(Array.from(this.#used, ([model, usage]) => ({ model, usage })));
  }

  #take(line: Buffer): void {
    const message = objectOf(objectOf(parseObject(line.toString())?.['result'])?.['message']);
    const usage = tokenUsageOf(message?.['usage']);
    const model = textOf(message?.['model']) ?? '';
    if (usage === undefined || (!this.#used.has(model) && this.#used.size >= mostModels)) return;
    this.#used.set(model, sumUsage(this.#used.get(model), usage));
  }
}
