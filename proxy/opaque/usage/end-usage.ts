// The tap that keeps the end of an answer as it passes, whole or streamed: there some formats say what it has cost.
import type { Sink, Tap } from '../../answer.ts';
import { skipValue } from '../../bytes/skip-value.ts';
import { CapturedSink } from '../../capture/captured-sink.ts';
import { type JsonObject, parseObject } from '../../dialects/json/json.ts';
import type { TokenUsage, UsageSource } from '../../tokens/token-usage.ts';

const openBrace = 0x7b;
/** The usage stands at the end of an answer, and of a stream in its last event. Bytes. */
const endBytes = 16 * 1024;

export class EndUsage implements Tap, UsageSource {
  readonly #read: (end: Buffer) => TokenUsage | undefined;
  #end: Buffer = Buffer.alloc(0);

  /** `read`: finds the usage in the end of an answer; undefined: it says nothing of it. */
  constructor(read: (end: Buffer) => TokenUsage | undefined) {
    this.#read = read;
  }

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
    return this.#read(this.#end);
  }

  #keep(chunk: Buffer): void {
    const whole = Buffer.concat([this.#end, chunk.subarray(-endBytes)]);
    // Copied: the bytes of a chunk are used again.
    this.#end = Buffer.from(whole.subarray(-endBytes));
  }
}

/** Most objects of a name that are looked at: each may be as long as the end. */
const mostObjects = 16;

/** The last object with this name of which `read` makes sense, `name` in its quotes; undefined: there is none. */
export function lastOf(
  bytes: Buffer,
  name: Buffer,
  read: (said: JsonObject) => TokenUsage | undefined,
): TokenUsage | undefined {
  let at = bytes.length;
  for (let tries = 0; tries < mostObjects && at > 0; tries += 1) {
    at = bytes.lastIndexOf(name, at - 1);
    const start = at === -1 ? -1 : bytes.indexOf(openBrace, at);
    if (start === -1) continue;
    const said = parseObject(bytes.toString('utf8', start, valueEnd(bytes, start)));
    const usage = said && read(said);
    if (usage !== undefined) return usage;
  }
  return undefined;
}

/** Of an answer that broke off, all that came. */
function valueEnd(bytes: Buffer, start: number): number {
  try {
    return skipValue(bytes, start);
  } catch {
    return bytes.length;
  }
}
