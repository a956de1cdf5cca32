// The guardrails that look for something in texts: regex, keywords and pii. What they do with it is the same for all.
import type { SaidText, TextForm } from '../../dialects/texts.ts';
import { atOnce, followed, inSlices, type Slices } from '../../pacing/slices.ts';
import type { Finder, Found } from '../find/finder.ts';
import { JsonScanner } from '../find/json-scanner.ts';
import { Lookout } from '../find/lookout.ts';
import { type Replace, TextScanner } from '../find/text-scanner.ts';
import { type CheckContext, type Checks, pass, type Released, type StreamCheck, type Verdict } from '../guardrail.ts';

export type FoundAction = 'block' | 'redact' | 'flag';

/** A search, and the action on findings. */
export interface Search {
  readonly finder: Finder;
  readonly action: FoundAction;
  /** The replacement of a finding, for `redact`. */
  readonly replacementOf: (found: Found, value: string, context: CheckContext) => string;
}

/** Reads a text of a form piece by piece. */
interface Scanner {
  push(text: string): string;
  end(): string;
}

export function foundChecks(search: Search): Checks {
  return {
    texts(texts, context) {
      const work = lookAt(texts, search, context);
      const length = texts.reduce((sum, { text }) => sum + lengthOf(text), 0);
      return length <= search.finder.slice ? atOnce(work) : inSlices(work);
    },
    stream: (form, context) => new FoundStream(form, search, context),
  };
}

/** The scanner of a text of a form. */
export function scannerOf(form: TextForm, finder: Finder, replace: Replace): Scanner {
  const open = (): TextScanner => new TextScanner(finder, replace);
  return form === 'json' ? new JsonScanner(open) : open();
}

function* lookAt(
  texts: readonly SaidText[],
  search: Search,
  context: CheckContext,
): Generator<undefined, Verdict, undefined> {
  const { action, finder } = search;
  const edited: string[] = [];
  let reason: string | undefined;
  const take: Replace = (found, value) => {
    reason ??= found.reason;
    return action === 'redact' ? search.replacementOf(found, value, context) : value;
  };
  let read = 0;
  for (const { text, form } of texts) {
    if (action === 'block' && reason !== undefined) break;
    read += lengthOf(text);
    if (read > finder.slice) {
      read = 0;
      yield;
    }
    if (yield* hasAny(finder, text, form)) {
      edited.push(yield* scanned(text, scannerOf(form, finder, take), finder.slice));
    } else edited.push(text);
  }
  if (reason === undefined) return pass;
  return action === 'redact' ? { outcome: 'revise', reason, texts: edited } : { outcome: action, reason };
}

/** Each text costs as much as some hundred characters more. */
function lengthOf({ length }: string): number {
  return length + 256;
}

/** Escapes in strings, and exponents of numbers. */
const mayHide = /\\|\d[eE]/;

/** Whether there may be something: false is certain. Something within the window lies within two slices that overlap. */
function* hasAny(finder: Finder, text: string, form: TextForm): Slices<boolean> {
  if (form === 'json' && (finder.isAnchored || mayHide.test(text))) return yield* hasHidden(finder, text);
  const margin = finder.window + 2;
  // A shorter slice than its margins would mostly read these.
  const slice = Math.max(finder.slice, margin);
  if (text.length <= slice + margin) return text !== '' && finder.mayFind(text);
  for (let start = 0; start < text.length; start += slice) {
    if (finder.mayFind(text.slice(Math.max(0, start - margin), start + slice + margin))) return true;
    yield;
  }
  return false;
}

/** Searches the text of a JSON value, its escapes decoded. */
function* hasHidden(finder: Finder, text: string): Slices<boolean> {
  const sighting = { isMade: false };
  const scanner = new JsonScanner(() => new Lookout(finder, sighting));
  for (let start = 0; start < text.length && !sighting.isMade; start += finder.slice) {
    if (start > 0) yield;
    scanner.push(text.slice(start, start + finder.slice));
  }
  scanner.end();
  return sighting.isMade;
}

function* scanned(text: string, scanner: Scanner, slice: number): Slices<string> {
  return (yield* pushed(text, scanner, slice)) + scanner.end();
}

/** Pushes a text in slices. */
function* pushed(text: string, scanner: Scanner, slice: number): Slices<string> {
  let told = '';
  for (let start = 0; start < text.length; start += slice) {
    told += scanner.push(text.slice(start, start + slice));
    yield;
  }
  return told;
}

/** The number of guardrails that read an event without a pause. */
const stagesInTurn = 4;

/** One text of a streamed answer. */
class FoundStream implements StreamCheck {
  readonly #scanner: Scanner;
  readonly #slice: number;
  /** Without a pause. Characters. */
  #read = 0;
  readonly #action: FoundAction;
  #reason: string | undefined;

  constructor(form: TextForm, { finder, action, replacementOf }: Search, context: CheckContext) {
    this.#action = action;
    this.#slice = finder.slice;
    this.#scanner = scannerOf(form, finder, (found, value) => {
      this.#reason ??= found.reason;
      return action === 'redact' ? replacementOf(found, value, context) : value;
    });
  }

  /** Waits once in so many characters, so that others have their turn. */
  push(text: string): Released | Promise<Released> {
    this.#read += text.length;
    const work = pushed(text, this.#scanner, this.#slice);
    const isShort = this.#read <= this.#slice / stagesInTurn;
    if (!isShort) this.#read = 0;
    return followed(isShort ? atOnce(work) : inSlices(work), (told) => this.#released(told));
  }

  end(): Released {
    return this.#released(this.#scanner.end());
  }

  #released(text: string): Released {
    const reason = this.#reason;
    if (reason === undefined) return { text };
    this.#reason = undefined;
    const outcome = this.#action === 'redact' ? 'revise' : this.#action;
    return { text: outcome === 'block' ? '' : text, verdict: { outcome, reason } };
  }
}
