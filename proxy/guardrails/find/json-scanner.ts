// The same for the text of a JSON value, such as the arguments of a tool: only what stands in its strings is looked at, and it stays JSON.
import type { TextScanner } from './text-scanner.ts';

const stops = /["\\]/g;

/** Looks at each string by itself, its escapes read. What was replaced is escaped; other escapes may be written otherwise than before. */
export class JsonScanner {
  readonly #open: () => TextScanner;
  /** The string that has not ended yet. */
  #string: TextScanner | undefined;
  /** An escape of which not all has come. */
  #escape = '';

  constructor(open: () => TextScanner) {
    this.#open = open;
  }

  /** Takes what comes next, and gives what is certain. */
  push(text: string): string {
    const piece = this.#escape + text;
    this.#escape = '';
    let told = '';
    let at = 0;
    while (at < piece.length) {
      const string = this.#string;
      if (string === undefined) {
        const quote = piece.indexOf('"', at);
        const end = quote === -1 ? piece.length : quote + 1;
        told += piece.slice(at, end);
        at = end;
        if (quote !== -1) this.#string = this.#open();
        continue;
      }
      stops.lastIndex = at;
      const stop = stops.exec(piece)?.index ?? piece.length;
      if (stop > at) told += escaped(string.push(piece.slice(at, stop)));
      at = stop;
      if (piece[at] === '"') {
        told += `${escaped(string.end())}"`;
        this.#string = undefined;
        at += 1;
      } else if (at < piece.length) {
        const length = piece[at + 1] === 'u' ? 6 : 2;
        if (at + length > piece.length) {
          this.#escape = piece.slice(at);
          break;
        }
        told += escaped(string.push(unescaped(piece.slice(at, at + length))));
        at += length;
      }
    }
    return told;
  }

  /** The text is over: gives the rest. */
  end(): string {
    const told = escaped(this.#string?.end() ?? '') + this.#escape;
    this.#string = undefined;
    this.#escape = '';
    return told;
  }
}

function escaped(text: string): string {
  return text === '' ? '' : JSON.stringify(text).slice(1, -1);
}

/** What an escape stands for; what is none stays. */
function unescaped(written: string): string {
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return written;
  }
}
