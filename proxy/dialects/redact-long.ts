// Removes tokens of a thousand characters and more from texts. A pattern of each form of each character, as for keys, would be too large.

/** From so many characters on a secret is long. */
export const longFrom = 128;

/** At the least, so that nothing else has it. Characters. */
const shortestPiece = 12;

/** What tells a secret: pieces without any character that is ever escaped, in lower case; of itself, and of its base64 at each of three places. */
const piecesOf = new Map<string, readonly string[]>();
/** Of `piecesOf`; tokens come and go. */
const mostKnown = 4_096;

/** The text with `mark` in place of every long secret, as it is, within base64, or with some of its characters escaped. */
export function redactLong(text: string, secrets: readonly string[], mark: string): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length < longFrom) continue;
    for (const piece of knownPieces(secret)) clean = without(clean, piece, mark);
  }
  return clean;
}

function knownPieces(secret: string): readonly string[] {
  const known = piecesOf.get(secret);
  if (known !== undefined) return known;
  if (piecesOf.size >= mostKnown) piecesOf.clear();
  const encoded = [0, 1, 2].map((lead) => Buffer.concat([Buffer.alloc(lead), Buffer.from(secret)]).toString('base64'));
  const pieces = [secret, ...encoded.map((form) => form.slice(4, -4))].flatMap((form) => longestPiece(form) ?? []);
  piecesOf.set(secret, pieces);
  return pieces;
}

function longestPiece(text: string): string | undefined {
  const pieces = text.match(/[A-Za-z0-9]+/g) ?? [];
  const longest = pieces.reduce((one, other) => (other.length > one.length ? other : one), '');
  return longest.length < shortestPiece ? undefined : longest.toLowerCase();
}

/** All that stands around the piece without a blank or a quote is taken out with it. */
function without(text: string, piece: string, mark: string): string {
  const folded = text.toLowerCase();
  if (folded.length !== text.length) return text;
  let clean = '';
  let from = 0;
  for (let at = folded.indexOf(piece); at !== -1; at = folded.indexOf(piece, from)) {
    let start = at;
    while (start > from && isPart(folded, start - 1)) start -= 1;
    let end = at + piece.length;
    while (end < folded.length && isPart(folded, end)) end += 1;
    clean += text.slice(from, start) + mark;
    from = end;
  }
  return from === 0 ? text : clean + text.slice(from);
}

/** Characters of tokens and of their escapes in JSON, URLs and HTML. A backslash is one only in front of what it escapes, not of a quote. */
function isPart(text: string, at: number): boolean {
  const character = text[at] as string;
  if (character === '\\') return /^\\+(?:u[0-9a-f]{4}|\/)/.test(text.slice(at, at + 12));
  return /[\w+/=.~%&;#-]/.test(character);
}
