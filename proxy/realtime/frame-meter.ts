// Follows the frames that come over a WebSocket (RFC 6455, 5.2), without keeping any: how much of a message has come that is not complete.

/** Bytes of memory that each piece takes besides its content, for its objects. */
const pieceBytes = 256;
/** The longest head of a frame: two bytes, a length of eight, a mask of four. */
const longestHead = 14;
const control = 0x08;

/** The frames of one side. What is no frame has no meaning here: who speaks the protocol refuses it. */
export class FrameMeter {
  readonly #head = Buffer.alloc(longestHead);
  #headLength = 0;
  /** Of the payload of the frame at hand. */
  #missing = 0;
  #isControl = false;
  #isLast = false;
  #bytes = 0;
  #pieces = 0;
  #completed = 0;

  /** Bytes of memory that the unfinished message takes so far. */
  get heldBytes(): number {
    return this.#bytes + this.#pieces * pieceBytes;
  }

  /** Whether something has come that is not complete. */
  get isUnfinished(): boolean {
    return this.#pieces > 0 || this.#headLength > 0 || this.#missing > 0;
  }

  /** The next bytes of the connection. Gives whether a message is complete by them. */
  take(chunk: Buffer): boolean {
    const before = this.#completed;
    let at = 0;
    while (at < chunk.length) {
      if (this.#missing > 0) at += this.#payload(chunk.length - at);
      else {
        this.#head[this.#headLength] = chunk[at] as number;
        this.#headLength += 1;
        at += 1;
        if (this.#headLength === headLength(this.#head, this.#headLength)) this.#begin();
      }
    }
    // Each read is a piece of memory of its own.
    if (this.#bytes > 0) this.#pieces += 1;
    return this.#completed !== before;
  }

  #begin(): void {
    const [first = 0] = this.#head;
    this.#isControl = (first & control) !== 0;
    this.#isLast = (first & 0x80) !== 0;
    this.#missing = payloadLength(this.#head);
    this.#headLength = 0;
    if (!this.#isControl) this.#pieces += 1;
    if (this.#missing === 0) this.#end();
  }

  /** Takes so many bytes of the frame's payload at most; gives how many were. */
  #payload(available: number): number {
    const taken = Math.min(this.#missing, available);
    this.#missing -= taken;
    if (!this.#isControl) this.#bytes += taken;
    if (this.#missing === 0) this.#end();
    return taken;
  }

  /** A control frame may stand between the frames of a message. */
  #end(): void {
    if (this.#isControl || !this.#isLast) return;
    this.#completed += 1;
    this.#bytes = 0;
    this.#pieces = 0;
  }
}

/** Of a head of which `known` bytes are there; at least two. */
function headLength(head: Buffer, known: number): number {
  if (known < 2) return 2;
  const second = head[1] as number;
  const length = second & 0x7f;
  return 2 + (length === 127 ? 8 : length === 126 ? 2 : 0) + ((second & 0x80) === 0 ? 0 : 4);
}

function payloadLength(head: Buffer): number {
  const length = (head[1] as number) & 0x7f;
  if (length < 126) return length;
  return length === 126 ? head.readUInt16BE(2) : head.readUInt32BE(2) * 2 ** 32 + head.readUInt32BE(6);
}
