// The input of a tool call as it comes: where its JSON ends, and what of it is told on.

const open = /[{[]/;
const blank = /^\s*$/;

/** Follows the text of one JSON object through its pieces, each looked at once. */
export class CallProgress {
  /** The object has ended. */
  isComplete = false;
  readonly #isFreeText: boolean;
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  #isTold = false;
  /** An empty object came as a whole. Some servers send it first and the real input behind it. */
  #holdsEmpty = false;

  constructor(isFreeText: boolean) {
    this.#isFreeText = isFreeText;
  }

  /** The text to pass on for the next piece; empty: none. Text after a complete object is left out. */
  push(piece: string): string {
    if (this.#isFreeText) return piece;
    if (this.#holdsEmpty && !blank.test(piece)) {
      this.#holdsEmpty = false;
      this.isComplete = false;
    }
    if (this.isComplete || piece === '') return '';
    if (!this.#isTold && piece.trim() === '{}') {
      this.#holdsEmpty = true;
      this.isComplete = true;
      return '';
    }
    const told = piece.slice(0, this.#scan(piece));
    if (told !== '') this.#isTold = true;
    return told;
  }

  /** The text to pass on at the end: `{}` for a call without input, else empty. */
  end(): string {
    return this.#isFreeText || this.#isTold ? '' : '{}';
  }

  /** Where the object ends in this piece; its length when it goes on. */
  #scan(piece: string): number {
    if (this.#depth === 0 && !open.test(piece)) return piece.length;
    for (let at = 0; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (this.#inText) this.#inside(code);
      else if (code === 0x22) this.#inText = true;
      else if (code === 0x7b || code === 0x5b) this.#depth += 1;
      else if ((code === 0x7d || code === 0x5d) && this.#leave()) return at + 1;
    }
    return piece.length;
  }

  #inside(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === 0x5c) this.#isEscaped = true;
    else if (code === 0x22) this.#inText = false;
  }

  #leave(): boolean {
    this.#depth -= 1;
    this.isComplete = this.#depth <= 0;
    return this.isComplete;
  }
}
