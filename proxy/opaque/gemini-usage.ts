// The tap that reads what an answer in the format of Gemini has cost, whole or streamed, as it passes.
import type { Sink, Tap } from '../answer.ts';
import { skipValue } from '../bytes/skip-value.ts';
import { CapturedSink } from '../capture/captured-sink.ts';
import { readUsage } from '../dialects/gemini/read-usage.ts';
import { parseObject } from '../dialects/json.ts';
import type { TokenUsage, UsageSource } from '../tokens/token-usage.ts';
import { reportedUsage } from '../translation/translated-usage.ts';

const mark = Buffer.from('"usageMetadata"');
const openBrace = 0x7b;
/** The usage stands at the end of an answer, and of a stream in its last event. Bytes. */
const endBytes = 16 * 1024;

export class GeminiUsage implements Tap, UsageSource {
  #end: Buffer = Buffer.alloc(0);

  whole(body: Buffer): Buffer {
    this.#keep(body);
    return body;
  }

  open(next: Sink): Sink {
    return new CapturedSink(next, (chunk) => this.#keep(chunk));
  }

  awaitsMore(): boolean {
    return false;
  }

  /** Undefined: the provider has said nothing. */
  usage(): TokenUsage | undefined {
    const end = this.#end;
    const at = end.lastIndexOf(mark);
    const start = at === -1 ? -1 : end.indexOf(openBrace, at);
    if (start === -1) return undefined;
    const said = parseObject(end.toString('utf8', start, valueEnd(end, start)));
    return said && reportedUsage(readUsage(said));
  }

  #keep(chunk: Buffer): void {
    const whole = Buffer.concat([this.#end, chunk.subarray(-endBytes)]);
    // Copied: the bytes of a chunk are used again.
    this.#end = Buffer.from(whole.subarray(-endBytes));
  }
}

/** Of an answer that broke off, all that came. */
function valueEnd(bytes: Buffer, start: number): number {
  try {
    return skipValue(bytes, start);
  } catch {
    return bytes.length;
  }
}
