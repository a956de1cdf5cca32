// Texts in runs of three characters, their grams: an entry that has a text has all grams of it, in whatever order.

/** How many entries a segment may have, so that a place in it is two letters. */
export const mostPlaces = 64 * 64;
/** More grams of a text than this narrow down nothing any more. */
const mostAsked = 4;
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** The number of each letter, by its code. */
const numbers = new Uint8Array(128);
for (const [number, letter] of letters.split('').entries()) numbers[letter.charCodeAt(0)] = number;
/** After the end of a text, so that its last two characters begin a gram too. */
const ends = '\u{1d}\u{1d}';

/** Selects rows of grams: some grams, all of which a text must have, or all that begin with one or two characters. */
export type AskedGrams = { readonly all: readonly string[] } | { readonly from: string; readonly before: string };

/** Of a text that is folded and not empty. */
export function gramsToAsk(text: string): AskedGrams {
  const characters = Array.from(text.toWellFormed());
  if (characters.length < 3) return { from: characters.join(''), before: `${characters.join('')}\u{10ffff}` };
  const grams = [...new Set(characters.slice(2).map((_, at) => characters.slice(at, at + 3).join('')))];
  const step = Math.max(grams.length / mostAsked, 1);
  return { all: grams.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step)) };
}

/** Which entries of a segment have which gram. */
export class GramIndex {
  /** By gram; one of ASCII is a number, for most are, and a number is found faster. */
  readonly #places = new Map<number | string, number[]>();

  /** Places come in rising order. `text`: folded. */
  add(place: number, text: string): void {
    if (text === '') return;
    const whole = text + ends;
    const isAscii = /^[\0-\x7f]*$/.test(text);
    const characters = isAscii ? [] : Array.from(whole);
    const count = isAscii ? text.length : characters.length - ends.length;
    let code = isAscii ? (whole.charCodeAt(0) << 7) | whole.charCodeAt(1) : 0;
    for (let at = 0; at < count; at += 1) {
      code = ((code << 7) | whole.charCodeAt(at + 2)) & mostCode;
      this.#note(isAscii ? code : codeOf(characters.slice(at, at + 3).join('')), place);
    }
  }

  #note(gram: number | string, place: number): void {
    const places = this.#places.get(gram);
    if (places === undefined) this.#places.set(gram, [place]);
    else if (places.at(-1) !== place) places.push(place);
  }

  /** Sorted by gram, so that they are stored in a row. */
  rows(): readonly (readonly [gram: string, places: string])[] {
    const rows = [...this.#places].map(([gram, places]) => [gramText(gram), places.map(placeText).join('')] as const);
    return rows.sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

/** Three times seven bits. */
const mostCode = 2 ** 21 - 1;

function codeOf(gram: string): number | string {
  if (!/^[\0-\x7f]{3}$/.test(gram)) return gram;
  return (gram.charCodeAt(0) << 14) | (gram.charCodeAt(1) << 7) | gram.charCodeAt(2);
}

function gramText(gram: number | string): string {
  return typeof gram === 'string' ? gram : String.fromCharCode(gram >> 14, (gram >> 7) & 127, gram & 127);
}

const placeTexts = Array.from({ length: mostPlaces }, (_, place) => `${letters[place >> 6]}${letters[place & 63]}`);

function placeText(place: number): string {
  return placeTexts[place] ?? '';
}

/** The places that all rows of one segment have, or any of them does; rising. */
export function placesOf(rows: readonly string[], isOfAll: boolean): number[] {
  const counts = new Uint32Array(mostPlaces);
  for (const row of rows)
    for (let at = 0; at < row.length; at += 2) {
      const place = (numbers[row.charCodeAt(at)] ?? 0) * 64 + (numbers[row.charCodeAt(at + 1)] ?? 0);
      counts[place] = (counts[place] ?? 0) + 1;
    }
  const least = isOfAll ? rows.length : 1;
  const places: number[] = [];
  for (let place = 0; place < mostPlaces; place += 1) if ((counts[place] ?? 0) >= least) places.push(place);
  return places;
}
