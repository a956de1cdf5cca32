// Portions of lines in the order in which they came: lines are added to the last one, and written from the first.
import { Portion, portionBytes } from './portion.ts';
import type { RecordLine } from './record-line.ts';

/** Portions that are kept for the next lines. */
const mostSpare = 4;

export class Portions {
  /** Of lines, as UTF-8 with their line breaks. */
  bytes = 0;
  lines = 0;
  #all: Portion[] = [];
  readonly #spare: Portion[] = [];
  #open: Portion | undefined;

  /** True: a portion before it is full. */
  add(line: RecordLine, bytes: number): boolean {
    const isBegun = this.#open?.hasRoom(bytes) !== true;
    if (this.#open === undefined || isBegun) this.#open = this.#begin(bytes);
    this.#open.add(line, bytes);
    this.bytes += bytes;
    this.lines += 1;
    return isBegun && this.#all.length > 1;
  }

  /** The one to write: no line is added to it any more. There must be one. */
  first(): Portion {
    const portion = this.#all[0] as Portion;
    if (portion === this.#open) this.#open = undefined;
    return portion;
  }

  /** The first lines of the first one were kept. False: lines of it are left. */
  forget(count: number): boolean {
    const portion = this.first();
    this.bytes -= portion.forget(count);
    this.lines -= count;
    if (portion.lineCount > 0) return false;
    this.#all.shift();
    if (portion.isReusable && this.#spare.length < mostSpare) this.#spare.push(portion);
    return true;
  }

  clear(): void {
    this.#all = [];
    this.#open = undefined;
    this.bytes = 0;
    this.lines = 0;
  }

  #begin(bytes: number): Portion {
    const begun = bytes > portionBytes ? new Portion(bytes) : (this.#spare.pop() ?? new Portion(portionBytes));
    this.#all.push(begun);
    return begun;
  }
}
