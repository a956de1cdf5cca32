// Whether the body of a model call may refer to stored objects. Nearly none does, and each is looked at: that must cost nearly nothing.
import { spells } from '../../bytes/spells.ts';

/**
 * The words before an underscore in names of members that name an object, and in ids that clients may place anywhere:
 * `file_id`, `vector_store_ids`, `skill_id`, `response_id`, `item_reference`, `cached_content`, `conv_…`, `cntr_…`,
 * `container_…`, `voice_…`.
 */
const before = 'file store skill response item cached conv cntr container voice'.split(' ');
/** The words before an underscore in ids of items, which no other member may name. */
const beforeItem = '"msg "rs "ig "fc "ws "fs "ci "cu "mcp "lsh "ctc'.split(' ');
/** Ids of items are an underscore and at least so many hexadecimal digits. */
const itemHex = 16;
const [underscore, backslash, slash] = [0x5f, 0x5c, 0x2f];
/** The words before a slash in addresses of files: `files/…`, `cachedContents/…`, `fileid://…`. */
const beforeSlash = 'files contents fileid:'.split(' ');
/** An escaped letter, `\u0020` to `\u007f`, may hide a name. Backslashes are in all code that is sent, these letters hardly. */
const hidden = Buffer.from('u00');
const [two, eight] = [0x32, 0x38];
/** A body with more of what has to be looked at is read in steps instead. */
const mostLooks = 20_000;

/** The last letters of words, three in a number; a quote may be the first. */
function endsOf(words: readonly string[]): ReadonlySet<number> {
  return new Set(words.map((word) => lettersAt(Buffer.from(word), word.length)));
}

/** The name of a member with the id of a previous answer. */
const previous = 'previous_message';
const previousStart = previous.indexOf('_');

/** True for a body that has to be read. */
export function mayRefer(body: Buffer): boolean {
  return hasBefore(body, underscore, ends) || hasBefore(body, slash, addressEnds) || hidesLetters(body);
}

/** Whether one of the ends stands before one of the bytes. */
function hasBefore(body: Buffer, byte: number, wanted: ReadonlySet<number>): boolean {
  let looks = 0;
  for (let at = body.indexOf(byte); at !== -1; at = body.indexOf(byte, at + 1)) {
    looks += 1;
    const until = body[at - 1] === backslash ? at - 1 : at;
    if (looks > mostLooks || (until > 2 && wanted.has(lettersAt(body, until)))) return true;
    if (byte === underscore && (hasHex(body, at + 1) || spells(body, at - previousStart, previous))) return true;
  }
  return false;
}

/** Whether the id of an item may begin there, whatever kind of item it is. */
function hasHex(body: Buffer, from: number): boolean {
  const end = from + itemHex;
  if (end > body.length) return false;
  for (let at = from; at < end; at += 1) if (!isHex(body[at] as number)) return false;
  return true;
}

function isHex(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66);
}

/** The three letters before a place, small ones. */
function lettersAt(bytes: Buffer, at: number): number {
  return (((bytes[at - 3] ?? 0) << 16) | ((bytes[at - 2] ?? 0) << 8) | (bytes[at - 1] ?? 0)) & 0xffffff;
}

function hidesLetters(body: Buffer): boolean {
  let looks = 0;
  for (let at = body.indexOf(hidden); at !== -1; at = body.indexOf(hidden, at + 1)) {
    looks += 1;
    if (looks > mostLooks) return true;
    const next = body[at + hidden.length] ?? 0;
    if (next >= two && next < eight && isEscape(body, at - 1)) return true;
  }
  return false;
}

/** Whether a backslash stands there that is not the second of an escaped one. */
function isEscape(body: Buffer, at: number): boolean {
  let slashes = 0;
  while (body[at - slashes] === backslash) slashes += 1;
  return slashes % 2 === 1;
}

const ends = endsOf([...before, ...beforeItem]);
const addressEnds = endsOf(beforeSlash);
