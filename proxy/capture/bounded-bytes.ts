// Bytes of a body that passes, as many as may be held.
import { HeldBytes } from '../bytes/held-bytes.ts';
import type { CaptureRoom } from './capture-budget.ts';

/** Bytes up to a bound, in memory that is accounted for. */
export class BoundedBytes {
  readonly #held = new HeldBytes();
  readonly #room: CaptureRoom;
  readonly #most: number;
  isCut = false;

  constructor(room: CaptureRoom, most: number) {
    this.#room = room;
    this.#most = most;
  }

  /** The bytes are used only during the call. */
  add(bytes: Buffer): void {
    if (this.isCut) return;
    const { length } = this.#held;
    const taken = length + bytes.length > this.#most ? bytes.subarray(0, this.#most - length) : bytes;
    this.isCut = taken.length < bytes.length;
    if (!this.#room.hasFor(length + taken.length)) this.isCut = true;
    else if (taken.length > 0) this.#held.add(length === 0 ? Buffer.from(taken) : taken);
  }

  get bytes(): Buffer {
    return this.#held.peek();
  }
}
