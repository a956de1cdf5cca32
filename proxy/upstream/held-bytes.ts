// Bytes that are kept until more come: in one buffer, because a thousand small pieces cost a hundred times their length.

const nothing: Buffer = Buffer.alloc(0);
/** First size of the buffer. Bytes. */
const firstBytes = 1024;

export interface HeldBytes {
  readonly length: number;
  /** Keeps the first piece as it is, and copies what comes behind it. */
  add(piece: Buffer): void;
  /** All of them, in their order; nothing is held afterwards. */
  take(): Buffer;
  /** The same, without taking them. */
  peek(): Buffer;
}

/** Holds nothing yet. How much may be held is decided by whoever adds. */
export function holdBytes(): HeldBytes {
  let room = nothing;
  let length = 0;
  const peek = (): Buffer => (length === 0 ? nothing : room.subarray(0, length));
  const append = (piece: Buffer): void => {
    if (length + piece.length > room.length) {
      const wider = Buffer.allocUnsafe(Math.max(firstBytes, length + piece.length, 2 * length));
      room.copy(wider, 0, 0, length);
      room = wider;
    }
    piece.copy(room, length);
  };
  return {
    get length() {
      return length;
    },
    add(piece) {
      if (length === 0) room = piece;
      else append(piece);
      length += piece.length;
    },
    take() {
      const held = peek();
      room = nothing;
      length = 0;
      return held;
    },
    peek,
  };
}
