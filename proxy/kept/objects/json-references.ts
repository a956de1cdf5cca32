// Finds which stored objects a JSON body refers to, while it comes in pieces of any size: by the names of members, at any depth. Every member of
// a name counts, and what is no JSON is read as far as it goes, with texts in single quotes and names in none: a lenient provider must find
// nothing that was missed here.
import { fileAddressed, resourceNamed } from './addresses.ts';
import { type FamilyName, families, foldedName } from './families.ts';

/** An object that a request refers to. */
export interface Reference {
  readonly family: FamilyName;
  readonly id: string;
  /** The provider reads it only if it has nothing else: it is refused only where it is known to be another owner's. */
  readonly isSoft?: true;
}

/** Objects of all callers that a request asks for. */
export const wholesale = new Set(['stored_completions', 'logs', 'responses']);

const [quote, apostrophe, backslash, colon, comma] = [0x22, 0x27, 0x5c, 0x3a, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Of a longer text, what stands at its beginning: an id is not so long, however it is escaped. Bytes. */
const longestText = 2048;
/** Of a name without quotes. */
const longestWord = 64;
/** Deeper values are looked at as if they stood here. */
const mostDepth = 256;
/** Of one value; a body with more is refused. */
const mostFound = 1_000;
const nothing: Buffer = Buffer.alloc(0);

/** Members whose contents are the client's own, whatever they are called. */
const ownWords: ReadonlySet<string> = new Set([
  'metadata',
  'inputschema',
  'parameters',
  'schema',
  'args',
  'arguments',
  'json',
]);
/** Objects with these types or names hold words of a model in `input`. */
const toolUse = /tool_?use$/i;
/** Members in which a text is the address of a file. */
const addresses: ReadonlySet<string> = new Set([
  'fileuri',
  'filename',
  'url',
  'uri',
  'imageurl',
  'fileurl',
  'name',
  'file',
  'files',
]);
const mentionedFile = /fileid:\/\/([A-Za-z0-9_-]+)/g;

/** The meaning of a member's name. */
interface Meaning {
  readonly folded: string;
  readonly family: FamilyName | undefined;
  readonly isAddress: boolean;
}

const meanings = new Map<string, Meaning>();
/** Names are the client's: no more of them are remembered. */
const mostNames = 2_000;

function meaningOf(name: string): Meaning {
  const known = meanings.get(name);
  if (known !== undefined) return known;
  const folded = foldedName(name);
  const family = findFamily(folded);
  // OpenAI's `filename` is the client's own word.
  const isAddress = family === 'file' || (addresses.has(folded) && name !== 'filename');
  const meaning = { folded, family, isAddress };
  if (meanings.size < mostNames) meanings.set(name, meaning);
  return meaning;
}

/** The family whose member it is; longer names that end so count, too. */
function findFamily(folded: string): FamilyName | undefined {
  let longest = '';
  let found: FamilyName | undefined;
  for (const name of Object.keys(families) as FamilyName[]) {
    for (const member of families[name].members) {
      if (!folded.endsWith(member) || member.length <= longest.length) continue;
      longest = member;
      found = name;
    }
  }
  return found;
}

const none: readonly Reference[] = [];

/** The references in a text under a name. */
export function referencesIn(name: string, text: string): readonly Reference[] {
  const { family, isAddress } = meaningOf(name);
  if (family === undefined && !isAddress && !text.includes('/')) return none;
  const resource = resourceNamed(text);
  if (resource !== undefined) return [resource];
  const file = isAddress ? fileAddressed(text) : undefined;
  if (file !== undefined) return [{ family: 'file', id: file }];
  if (text.startsWith('fileid://'))
    return [...text.matchAll(mentionedFile)].map(([, id = '']) => ({ family: 'file', id }) as const);
  if (family === undefined || !isIdOf(family, text)) return [];
  return [families[family].isSoft === true ? { family, id: text, isSoft: true } : { family, id: text }];
}

function isIdOf(family: FamilyName, text: string): boolean {
  return text !== '' && families[family].form?.test(text.trim()) !== false;
}

/** An object or list that has begun. */
interface Frame {
  readonly isList: boolean;
  /** The member that it stands in; lists pass theirs on. */
  readonly name: string;
  /** The name of what it stands in. */
  readonly outer: string;
  readonly found: Reference[];
  /** In `input`: of no interest if this turns out to be the use of a tool. */
  readonly foundInInput: Reference[];
  key: string;
  readonly ids: string[];
  readonly types: string[];
  hasRole: boolean;
  holdsItself: boolean;
}

export class JsonReferences {
  /** The references in complete values; taking them empties the list. */
  found: Reference[] = [];
  /** It asks for objects of all callers. */
  asksForAll = false;
  /** It refers to more than can be looked up. */
  isTooMany = false;
  #count = 0;
  readonly #frames: Frame[] = [];
  /** Values that are too deep for a frame of their own. */
  #beyond = 0;
  /** The quote that ends the text; 0: no text has begun. */
  #quote = 0;
  #isEscaped = false;
  #text: Buffer = nothing;
  /** The last text that has ended; a colon behind it makes it a key. */
  #last: string | undefined;
  /** The letters since then that stand in no quotes. */
  #word = '';

  push(piece: Buffer): void {
    for (let at = 0; at < piece.length && !this.isTooMany; )
      at = this.#quote !== 0 ? this.#within(piece, at) : this.#between(piece, at);
  }

  /** All of it has come; what has not been closed counts as well. */
  end(): void {
    this.#endValue();
    this.#quote = 0;
    this.#isEscaped = false;
    this.#beyond = 0;
    while (this.#frames.length > 0) this.#close();
  }

  #between(piece: Buffer, from: number): number {
    for (let at = from; at < piece.length; at += 1) {
      const byte = piece[at] as number;
      if (byte === quote || byte === apostrophe) {
        this.#quote = byte;
        this.#text = nothing;
        return at + 1;
      }
      if (byte === openBrace || byte === openBracket) this.#open(byte === openBracket);
      else if (byte === closeBrace || byte === closeBracket) {
        this.#endValue();
        this.#close();
      } else if (byte === colon) this.#takeKey();
      else if (byte === comma) this.#endValue();
      else if (isLetter(byte) && this.#word.length < longestWord) this.#word += String.fromCharCode(byte);
    }
    return piece.length;
  }

  #within(piece: Buffer, from: number): number {
    let at = from;
    if (this.#isEscaped) {
      this.#isEscaped = false;
      at += 1;
    }
    let end = -1;
    while (at < piece.length) {
      const next = piece.indexOf(this.#quote, at);
      const stop = next === -1 ? piece.length : next;
      const slashes = slashesBefore(piece, stop, at);
      const isOdd = slashes % 2 === 1;
      if (next === -1) {
        this.#isEscaped = isOdd;
        break;
      }
      at = stop + 1;
      if (!isOdd) {
        end = stop;
        break;
      }
    }
    const until = end === -1 ? piece.length : end;
    if (end !== -1 && this.#text.length === 0) {
      this.#quote = 0;
      this.#last = unescaped(piece.toString('utf8', from, Math.min(until, from + longestText)));
      return end + 1;
    }
    const room = longestText - this.#text.length;
    // Copied: the bytes of a piece are used again.
    if (room > 0) this.#text = Buffer.concat([this.#text, piece.subarray(from, Math.min(until, from + room))]);
    if (end === -1) return piece.length;
    this.#quote = 0;
    this.#last = unescaped(this.#text.toString());
    return end + 1;
  }

  #takeKey(): void {
    const frame = this.#frames.at(-1);
    const name = this.#last ?? (this.#word === '' ? undefined : this.#word);
    if (frame !== undefined && name !== undefined && !frame.isList) frame.key = name;
    this.#last = undefined;
    this.#word = '';
  }

  #open(isList: boolean): void {
    this.#last = undefined;
    this.#word = '';
    if (this.#frames.length >= mostDepth) {
      this.#beyond += 1;
      return;
    }
    const frame = this.#frames.at(-1);
    const outer = frame?.name ?? '';
    const name = frame?.isList === false ? frame.key : outer;
    const of = { isList, name, outer, key: '', hasRole: false, holdsItself: false };
    this.#frames.push({ ...of, found: [], foundInInput: [], ids: [], types: [] });
  }

  /** A value has ended, by a comma or what closes it: if it was a text, it may refer to something. */
  #endValue(): void {
    const text = this.#last;
    this.#last = undefined;
    this.#word = '';
    const frame = this.#frames.at(-1);
    if (text === undefined || frame === undefined) return;
    const name = frame.isList ? frame.name : frame.key;
    if (!frame.isList && !noteMember(frame, name, text)) this.isTooMany = true;
    for (const reference of referencesIn(name, text)) this.#add(frame.found, reference);
  }

  #close(): void {
    if (this.#beyond > 0) {
      this.#beyond -= 1;
      return;
    }
    const frame = this.#frames.pop();
    if (frame === undefined) return;
    const parent = this.#frames.at(-1);
    let into = this.found;
    if (parent !== undefined) {
      const isInput = !parent.isList && !frame.isList && parent.key === 'input';
      into = isInput ? parent.foundInInput : parent.found;
    } else this.#count = 0;
    for (const reference of this.#foundIn(frame, parent?.isList === true)) into.push(reference);
  }

  /** `isEntry`: it stands in a list, as what a message consists of does. */
  #foundIn(frame: Frame, isEntry: boolean): readonly Reference[] {
    const { isList, name, outer, found, foundInInput, ids, types } = frame;
    if (types.some((type) => wholesale.has(type)) && /source|config/i.test(name)) this.asksForAll = true;
    if (isList) return found;
    const { folded } = meaningOf(name);
    if (ownWords.has(folded) || (folded === 'response' && outer === 'functionResponse')) return [];
    const isToolUse = types.length > 0 ? isEntry && types.every((type) => toolUse.test(type)) : toolUse.test(name);
    if (!isToolUse) for (const reference of foundInInput) found.push(reference);
    for (const id of ids) for (const reference of byId(frame, id)) this.#add(found, reference);
    return found;
  }

  #add(list: Reference[], reference: Reference): void {
    this.#count += 1;
    if (this.#count > mostFound) this.isTooMany = true;
    else list.push(reference);
  }
}

/** Most types and ids of one object. Honest clients say one each; of more, one reader takes the first, another the last. */
const mostSaid = 4;

/** False: too many are said. */
function noteMember(frame: Frame, key: string, text: string): boolean {
  const folded = key.toLowerCase();
  if (folded === 'id') frame.ids.push(text);
  else if (folded === 'type') frame.types.push(text);
  else if (folded === 'role') frame.hasRole = true;
  else if ((key === 'encrypted_content' || key === 'result') && text !== '') frame.holdsItself = true;
  return frame.ids.length <= mostSaid && frame.types.length <= mostSaid;
}

/** The references of an object by its own `id`. */
function byId({ name, types, hasRole, holdsItself }: Frame, id: string): readonly Reference[] {
  const { folded, family } = meaningOf(name);
  if (types.includes('file_id')) return [{ family: 'file', id }];
  if (types.includes('item_reference')) return [{ family: 'item', id }];
  if (folded === 'input' || folded === 'items' || folded === 'item') {
    if (types.length === 0 && !hasRole) return [{ family: 'item', id }];
    if (types.includes('image_generation_call') && !holdsItself) return [{ family: 'item', id }];
    if (types.includes('reasoning') && !holdsItself) return [{ family: 'item', id, isSoft: true }];
  }
  return family === undefined || !isIdOf(family, id) ? [] : [{ family, id }];
}

function slashesBefore(piece: Buffer, end: number, from: number): number {
  let at = end;
  while (at > from && piece[at - 1] === backslash) at -= 1;
  return end - at;
}

function isLetter(byte: number): boolean {
  const small = byte | 0x20;
  return (small >= 0x61 && small <= 0x7a) || byte === 0x5f;
}

const escapes = /\\(?:u([0-9A-Fa-f]{4})|(.))/gs;
const controls: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Decodes escapes; an escape that JSON does not know becomes its letter. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(escapes, (_, hex: string | undefined, letter = '') =>
    hex === undefined ? (controls[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
