// The tap that counts the images of an answer as its bytes pass: each entry of its list holds one as base64, or its address.
import type { Failure, Sink, Tap } from '../../answer.ts';

/** Within a text their quotes would be escaped. */
const keys = [Buffer.from('"b64_json"'), Buffer.from('"url"')];
/** Longer than a key, what separates it from its value, and the beginning of that. Bytes. */
const overlapBytes = 24;

const quote = 0x22;
const colon = 0x3a;
const blank = 0x20;

export class ImageCount implements Tap {
  count = 0;
  #before: Buffer = Buffer.alloc(0);

  whole(body: Buffer): Buffer {
    this.#push(body);
    return body;
  }

  open(next: Sink): Sink {
    return {
      write: (chunk: Buffer) => {
        this.#push(chunk);
        return next.write(chunk);
      },
      end: (failure: Failure | undefined) => next.end(failure),
    };
  }

  awaitsMore(): boolean {
    return false;
  }

  #push(chunk: Buffer): void {
    const seen = this.#before.length;
    const bytes = seen === 0 ? chunk : Buffer.concat([this.#before, chunk]);
    for (const key of keys) {
      for (let at = bytes.indexOf(key); at !== -1; at = bytes.indexOf(key, at + key.length)) {
        const value = textAfter(bytes, at + key.length);
        // An image that ended before this chunk was counted with the chunk before.
        if (value !== -1 && value >= seen) this.count += 1;
      }
    }
    this.#before = Buffer.from(bytes.subarray(-overlapBytes));
  }
}

/** Where the text begins that is the value of a key which ends before `from`; -1 for another value, and where it has not come. */
function textAfter(bytes: Buffer, from: number): number {
  let at = skipBlanks(bytes, from);
  if (bytes[at] !== colon) return -1;
  at = skipBlanks(bytes, at + 1);
  return bytes[at] === quote ? at : -1;
}

/** As many as an answer that is written for people has. */
function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (at < from + 4 && bytes[at] === blank) at += 1;
  return at;
}
