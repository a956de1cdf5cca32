// The pieces of one read of a socket, kept until all of it is parsed, then joined in one copy.

const nothing: Buffer = Buffer.alloc(0);

/** Holds nothing at first. Pieces are kept as they are: all of a read share its memory, so they cost no more than it does. */
export class ReadPieces {
  #pieces: Buffer[] = [];
  #length = 0;

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  /** All of them in their order; nothing is held afterwards. A single piece is not copied. */
  take(): Buffer {
    const pieces = this.#pieces;
    const [first] = pieces;
    if (first === undefined) return nothing;
    const joined = pieces.length === 1 ? first : Buffer.concat(pieces, this.#length);
    // A read has one piece as a rule: its array is used again.
    pieces.length = 0;
    this.#length = 0;
    return joined;
  }
}
