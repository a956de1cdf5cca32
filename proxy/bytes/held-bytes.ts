// Bytes that are kept until more come: in one buffer, because a thousand small pieces cost a hundred times their length.

const nothing: Buffer = Buffer.alloc(0);
/** First size of the buffer. Bytes. */
const firstBytes = 1024;

/** Holds nothing at first. How much may be held is decided by the caller. */
export class HeldBytes {
  length = 0;
  #room = nothing;

  /** Keeps the first piece as it is, and copies what comes behind it. */
  add(piece: Buffer): void {
    if (this.length === 0) this.#room = piece;
    else this.#append(piece);
    this.length += piece.length;
  }

  /** All of them, in their order; nothing is held afterwards. */
  take(): Buffer {
    const held = this.peek();
    this.#room = nothing;
    this.length = 0;
    return held;
  }

  /** The held bytes, without removing them. */
  peek(): Buffer {
    if (this.length === 0) return nothing;
    return this.length === this.#room.length ? this.#room : this.#room.subarray(0, this.length);
  }

  #append(piece: Buffer): void {
    const { length } = this;
    if (length + piece.length > this.#room.length) {
      const wider = Buffer.allocUnsafe(Math.max(firstBytes, length + piece.length, 2 * length));
      this.#room.copy(wider, 0, 0, length);
      this.#room = wider;
    }
    piece.copy(this.#room, length);
  }
}
