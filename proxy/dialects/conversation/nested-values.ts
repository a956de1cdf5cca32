// How many values the JSON has that stands in texts of a conversation: inputs of tools and what tools gave. Writers read it where their
// dialect has objects there, so it counts like the rest of a body.
import { maxValues, TooManyValues } from '../json/read-json.ts';
import type { Part } from './parts.ts';

/** How far a text is looked at in one step. Characters. */
const stepLength = 512 * 1024;
const mayHold = /^\s*[[{]/;
const [quote, backslash, comma, brace, bracket] = [0x22, 0x5c, 0x2c, 0x7b, 0x5b];

/** Throws TooManyValues where these parts together hold more than one text may. In steps of a few milliseconds. */
export function* checkNestedValues(parts: Iterable<Part>): Generator<undefined, void, undefined> {
  let values = 0;
  let looked = 0;
  for (const part of parts) {
    for (const text of textsOf(part)) {
      if (!mayHold.test(text)) continue;
      let isWithin = false;
      for (let at = 0; at < text.length; at += 1) {
        const code = text.charCodeAt(at);
        looked += 1;
        if (code === quote) isWithin = !isWithin;
        else if (code === backslash) at += 1;
        else if (!isWithin && (code === comma || code === brace || code === bracket)) {
          values += 1;
          if (values > maxValues) throw new TooManyValues();
        }
        if (looked < stepLength) continue;
        looked = 0;
        yield;
      }
    }
  }
}

function* textsOf(part: Part): Generator<string> {
  if (part.kind === 'tool_call') {
    if (!part.isFreeText) yield part.input;
  } else if (part.kind === 'tool_result') {
    for (const said of part.content) if (said.kind === 'text') yield said.text;
  }
}
