// Lines that wait to be written in one go, as bytes in one piece of memory: a text that waits is copied at each collection of garbage, and
// once more to be written.

import type { RecordLine } from './record-line.ts';

/** Of one portion: it is written within a millisecond or two. A longer line is a portion of its own. Bytes. */
export const portionBytes = 512 * 1024;

/** Lines as UTF-8, each with its line break. */
export interface Lines {
  readonly bytes: Buffer;
  /** Just past each line, from the beginning of `bytes`; in ascending order. */
  readonly ends: readonly number[];
}

const lineFeed = 0x0a;

export class Portion {
  #bytes: Buffer;
  #used = 0;
  /** Just past each line. */
  #ends: number[] = [];
  /** False once a write has failed in part: it may still be reading these bytes. */
  #isReusable = true;

  /** With room for so many bytes. */
  constructor(room: number) {
    this.#bytes = Buffer.allocUnsafeSlow(room);
  }

  get lineCount(): number {
    return this.#ends.length;
  }

  get isReusable(): boolean {
    return this.#isReusable && this.#bytes.length === portionBytes;
  }

  hasRoom(bytes: number): boolean {
    return this.#used + bytes <= this.#bytes.length;
  }

  /** `bytes`: those of the line with its line break. There must be room for them. */
  add(line: RecordLine, bytes: number): void {
    const end = this.#used + bytes;
    if (typeof line === 'string') this.#bytes.write(line, this.#used);
    else this.#copy(line);
    this.#bytes[end - 1] = lineFeed;
    this.#used = end;
    this.#ends.push(end);
  }

  #copy(pieces: readonly Buffer[]): void {
    let at = this.#used;
    for (const piece of pieces) {
      this.#bytes.set(piece, at);
      at += piece.length;
    }
  }

  lines(): Lines {
    return { bytes: this.#bytes.subarray(0, this.#used), ends: this.#ends };
  }

  /** Forgets the first lines, which were kept, and gives their bytes. What is left stays where it is. */
  forget(count: number): number {
    const bytes = this.#ends[count - 1] ?? 0;
    if (count < this.#ends.length) {
      this.#isReusable = false;
      this.#bytes = this.#bytes.subarray(bytes);
    }
    this.#used -= bytes;
    this.#ends = this.#ends.slice(count).map((end) => end - bytes);
    return bytes;
  }
}
