// Finds references in the fields of an encoded form, and in the parameters of a query. They come in pieces, and none takes long.
import { refusal } from '../../errors.ts';
import { type Reference, referencesIn } from './json-references.ts';

/** Of a longer pair, what stands at its beginning. Bytes. */
const longestPair = 4096;
/** A form with more fields is refused. */
const mostPairs = 10_000;
/** Some servers take semicolons for what stands between two, too. */
const separators = /[&;]/;

export class PairReader {
  readonly found: Reference[] = [];
  #begun = '';
  #pairs = 0;

  /** Throws 400 `too_many_objects`. */
  push(piece: Buffer): void {
    const [first = '', ...pairs] = piece.toString('latin1').split(separators);
    this.#extend(first);
    for (const pair of pairs) {
      this.#take();
      this.#extend(pair);
    }
  }

  /** All of them have come. Throws as `push`. */
  end(): void {
    this.#take();
  }

  #extend(text: string): void {
    if (this.#begun.length < longestPair) this.#begun += text.slice(0, longestPair - this.#begun.length);
  }

  #take(): void {
    const pair = this.#begun;
    this.#begun = '';
    const at = pair.indexOf('=');
    if (at <= 0) return;
    this.#pairs += 1;
    if (this.#pairs > mostPairs) throw refusal('too_many_objects');
    for (const reference of referencesIn(plain(pair.slice(0, at)), plain(pair.slice(at + 1))))
      this.found.push(reference);
  }
}

/** The references in the parameters of a query. */
export function referencesOfQuery(query: string): readonly Reference[] {
  const reader = new PairReader();
  reader.push(Buffer.from(query));
  reader.end();
  return reader.found;
}

/** Without escapes; what is none stays. */
function plain(text: string): string {
  const bytes = text
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
