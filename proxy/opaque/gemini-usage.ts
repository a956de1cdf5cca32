// The tap that reads what an answer in the format of Gemini has cost, whole or streamed, as it passes.
import type { Failure, Sink, Tap } from '../answer.ts';
import { readUsage } from '../dialects/gemini/read-usage.ts';
import { type objectOf, parseObject } from '../dialects/json.ts';
import type { TokenUsage, UsageSource } from '../tokens/token-usage.ts';
import { reportedUsage } from '../translation/translated-usage.ts';

const mark = '"usageMetadata"';
/** The usage stands at the end of an answer, and of a stream in its last event. Bytes. */
const endBytes = 16 * 1024;
const openBrace = '{';
const closeBrace = '}';

export class GeminiUsage implements Tap, UsageSource {
  #end: Buffer = Buffer.alloc(0);

  whole(body: Buffer): Buffer {
    this.#keep(body);
    return body;
  }

  open(next: Sink): Sink {
    return {
      write: (chunk: Buffer): boolean => {
        this.#keep(chunk);
        return next.write(chunk);
      },
      end: (failure: Failure | undefined): void => next.end(failure),
    };
  }

  awaitsMore(): boolean {
    return false;
  }

  /** Undefined: the provider has said nothing. */
  usage(): TokenUsage | undefined {
    const text = this.#end.toString('utf8');
    const at = text.lastIndexOf(mark);
    const said = at === -1 ? undefined : objectBehind(text, at + mark.length);
    return said && reportedUsage(readUsage(said));
  }

  #keep(chunk: Buffer): void {
    const whole = Buffer.concat([this.#end, chunk.subarray(-endBytes)]);
    // Copied: the bytes of a chunk are used again.
    this.#end = Buffer.from(whole.subarray(-endBytes));
  }
}

/** The object whose brace comes next. Its texts are names of modalities, so braces within texts need no care. */
function objectBehind(text: string, from: number): ReturnType<typeof objectOf> {
  const start = text.indexOf(openBrace, from);
  let depth = 0;
  for (let at = start; at !== -1 && at < text.length; at += 1) {
    if (text[at] === openBrace) depth += 1;
    else if (text[at] === closeBrace) depth -= 1;
    if (depth === 0) return parseObject(text.slice(start, at + 1));
  }
  return undefined;
}
