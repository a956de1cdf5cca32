// Looks out for something in a text that comes in pieces, and gives nothing of it: much faster than reading it character by character.
import type { Finder } from './finder.ts';
import type { TextReader } from './json-scanner.ts';

/** Whether there may be something in a text. */
export interface Sighting {
  isMade: boolean;
}

export class Lookout implements TextReader {
  readonly #finder: Finder;
  readonly #sighting: Sighting;
  /** The text to search, and before it the possible beginning of a match. */
  #held = '';
  /** The number of characters that were searched. */
  #seen = 0;

  constructor(finder: Finder, sighting: Sighting) {
    this.#finder = finder;
    this.#sighting = sighting;
  }

  push(text: string): string {
    this.#held += text;
    // More than its margin, so that this is not mostly read again.
    const margin = this.#finder.window + 2;
    if (this.#held.length - this.#seen < Math.max(margin, this.#finder.slice)) return '';
    this.#look();
    this.#held = this.#held.slice(-margin);
    this.#seen = this.#held.length;
    return '';
  }

  whole(text: string): string {
    if (this.#finder.mayFind(text)) this.#sighting.isMade = true;
    return text;
  }

  end(): string {
    this.#look();
    return '';
  }

  #look(): void {
    if (this.#finder.mayFind(this.#held)) this.#sighting.isMade = true;
  }
}
