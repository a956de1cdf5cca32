// The tap of the results of a batch, of messages or of other requests: each line tells what its request has used.
import type { Failure, Sink, Tap } from '../../answer.ts';
import { HeldBytes } from '../../bytes/held-bytes.ts';
import { objectOf, parseObject, textOf } from '../../dialects/json/json.ts';
import type { ModelUsage } from '../../tokens/model-usage.ts';
import { sumUsage } from '../../tokens/sum-usage.ts';
import { tokenUsageOf } from '../../tokens/token-usage.ts';

const newline = 0x0a;
/** A shorter or a longer line is no result with its usage. Bytes. */
const shortestLine = 20;
const longestLine = 4 * 1024 * 1024;
/** More models than one batch has; further ones are not told apart. */
const mostModels = 64;

export class BatchResultsTap implements Tap {
  readonly #done: (used: readonly ModelUsage[]) => void;
  readonly #used = new Map<string, ModelUsage>();
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
      if (this.#line.length === 0) this.#take(chunk.subarray(start, end));
      else {
        this.#hold(chunk.subarray(start, end));
        this.#take(this.#line.take());
      }
      start = end + 1;
      while (chunk[start] === newline) start += 1;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
  }

  /** Copied: the bytes of a chunk are used again. */
  #hold(piece: Buffer): void {
    if (this.#line.length + piece.length <= longestLine) this.#line.add(Buffer.from(piece));
  }

  #end(): void {
    this.#take(this.#line.take());
    this.#done([...this.#used.values()]);
  }

  #take(line: Buffer): void {
    // Millions of such lines would take minutes.
    if (line.length < shortestLine || line.length > longestLine || !line.includes('"usage"')) return;
    const said = parseObject(line.toString());
    // Of Anthropic, and of OpenAI.
    const message =
      objectOf(objectOf(said?.['result'])?.['message']) ?? objectOf(objectOf(said?.['response'])?.['body']);
    const usage = tokenUsageOf(message?.['usage']);
    const model = textOf(message?.['model']) ?? '';
    if (usage === undefined || (!this.#used.has(model) && this.#used.size >= mostModels)) return;
    const before = this.#used.get(model);
    this.#used.set(model, { model, usage: sumUsage(before?.usage, usage), requests: (before?.requests ?? 0) + 1 });
  }
}
