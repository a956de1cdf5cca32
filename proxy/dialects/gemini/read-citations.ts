// The sources of an answer: what a search found (`groundingMetadata`), and what the model quotes (`citationMetadata`).
import type { Citation } from '../conversation/parts.ts';
import { type JsonObject, type JsonValue, listOf, numberOf, objectOf, textOf } from '../json/json.ts';

/** The citations of a candidate. `text`: of the part that they belong to. */
export function readCitations(candidate: JsonObject, text: string): readonly Citation[] {
  const grounding = objectOf(candidate['groundingMetadata']);
  const quotes = objectOf(candidate['citationMetadata']);
  if (grounding === undefined && quotes === undefined) return [];
  const places = new Places(text);
  return [...grounded(grounding ?? {}, places), ...quoted(quotes ?? {}, places)];
}

/** One citation for each place in the text and each source of it; without places one for each source. */
function grounded(grounding: JsonObject, places: Places): readonly Citation[] {
  const sources = objectsOf(grounding['groundingChunks']).map(sourceOf);
  const supports = objectsOf(grounding['groundingSupports']);
  if (supports.length === 0) return sources;
  return supports.flatMap((support) => {
    const segment = objectOf(support['segment']) ?? {};
    const place = places.of(segment, textOf(segment['text']));
    return (listOf(support['groundingChunkIndices']) ?? []).flatMap((index) => {
      const source = sources[numberOf(index) ?? -1];
      return source === undefined ? [] : [{ ...source, ...place }];
    });
  });
}

/** `web`, `retrievedContext`, `maps` … */
function sourceOf(chunk: JsonObject): Citation {
  const source = Object.values(chunk).map(objectOf).find(Boolean) ?? {};
  return { url: textOf(source['uri']), title: textOf(source['title']), citedText: textOf(source['text']) };
}

/** Called `citationSources` at the Gemini API and `citations` at Vertex AI. */
function quoted(quotes: JsonObject, places: Places): readonly Citation[] {
  return objectsOf(quotes['citationSources'] ?? quotes['citations']).map((source) => {
    const license = textOf(source['license']);
    const citation = { url: textOf(source['uri']), title: textOf(source['title']), ...places.of(source, undefined) };
    return license ? { ...citation, own: { dialect: 'gemini', members: { license } } } : citation;
  });
}

const stepBytes = 128;

/** Gemini counts the bytes of UTF-8, the conversation characters. */
class Places {
  readonly #text: string;
  readonly #bytes: Buffer;
  /** How many characters begin before every so many bytes, because an answer may have thousands of places. */
  readonly #steps: number[] = [];

  constructor(text: string) {
    this.#text = text;
    this.#bytes = Buffer.from(text);
  }

  /** Where a segment is. Unknown when other text stands there: its offsets count from another part. */
  of(segment: JsonObject, said: string | undefined): Pick<Citation, 'start' | 'end'> {
    const last = numberOf(segment['endIndex']);
    if (last === undefined || last > this.#bytes.length) return {};
    const start = this.#characters(numberOf(segment['startIndex']) ?? 0);
    const end = this.#characters(last);
    return said === undefined || this.#text.slice(start, end) === said ? { start, end } : {};
  }

  #characters(bytes: number): number {
    if (this.#bytes.length === this.#text.length) return bytes;
    const last = Math.max(0, Math.floor(bytes / stepBytes));
    for (let step = this.#steps.length; step <= last; step += 1) {
      const before = step === 0 ? 0 : this.#count((step - 1) * stepBytes, step * stepBytes);
      this.#steps.push((this.#steps[step - 1] ?? 0) + before);
    }
    return (this.#steps[last] ?? 0) + this.#count(last * stepBytes, bytes);
  }

  /** The characters that begin between two bytes: UTF-16 has two for what takes four bytes of UTF-8. */
  #count(from: number, to: number): number {
    const bytes = this.#bytes;
    let characters = 0;
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at] ?? 0;
      if ((byte & 0xc0) !== 0x80) characters += byte >= 0xf0 ? 2 : 1;
    }
    return characters;
  }
}

function objectsOf(list: JsonValue | undefined): readonly JsonObject[] {
  return (listOf(list) ?? []).map((entry) => objectOf(entry) ?? {});
}
