// Normalises user paths, so that header, key, YAML and admin API name the same consumer in the same way, and compares them.

const maxBytes = 1_024;
const maxSegments = 64;
/** Control, format (zero-width, right-to-left), line and paragraph separators, lone surrogates. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

export type UserPathResult = { path: string; problem?: undefined } | { path?: undefined; problem: string };

/**
 * `team//app/` → `{ path: "/team/app" }`; an empty text or `/` → `/`. Letter case is kept, the text is composed (NFC),
 * percent signs are literal. An invalid path (over 1,024 bytes or 64 segments, an invisible character, a colon, `.` or
 * `..`) returns `{ problem }`, the end of a sentence. Does not throw.
 */
export function normaliseUserPath(text: string): UserPathResult {
  if (text.length > maxBytes) return { problem: 'is longer than 1024 bytes' };
  if (invisible.test(text)) return { problem: 'holds a control, zero-width or right-to-left character' };
  const segments: string[] = [];
  for (const part of text.normalize('NFC').split('/')) {
    const segment = part.trim();
    if (segment === '') continue;
    if (segment === '.' || segment === '..') return { problem: 'has a "." or ".." segment' };
    if (segment.includes(':')) return { problem: 'has a colon in a segment' };
    segments.push(segment);
  }
  if (segments.length > maxSegments) return { problem: 'has more than 64 segments' };
  const path = `/${segments.join('/')}`;
  return isTooLong(path) ? { problem: 'is longer than 1024 bytes' } : { path };
}

/** Counts bytes only for long texts: a UTF-16 code unit takes at most three bytes. */
function isTooLong(path: string): boolean {
  return path.length * 3 > maxBytes && new TextEncoder().encode(path).length > maxBytes;
}

/**
 * The form of a normalised path that is compared and kept as a key: `/Team/App` and `/team/app` are one consumer (spec, Resources: matching
 * is case-insensitive). What people see is the path as it was written or sent.
 */
export function foldUserPath(path: string): string {
  return path.toLowerCase();
}

/** Whether two normalised paths name one consumer. */
export function isSamePath(one: string, other: string): boolean {
  return foldUserPath(one) === foldUserPath(other);
}

/** Whether `path` is `ancestor` or lies below it, in any letter case; both normalised. `/team-alpha` is not within `/team`. */
export function isWithin(path: string, ancestor: string): boolean {
  if (ancestor === '/') return true;
  const [below, above] = [foldUserPath(path), foldUserPath(ancestor)];
  return below.startsWith(above) && (below.length === above.length || below[above.length] === '/');
}

/**
 * The direct child of `template` that `path` belongs to, folded: for `/customers`, both `/customers/a` and `/Customers/A/b` give
 * `/customers/a`. Undefined for the template itself and for anything outside it (Limits 3).
 */
export function directChild(path: string, template: string): string | undefined {
  const [below, above] = [foldUserPath(path), foldUserPath(template)];
  if (below === above || !isWithin(below, above)) return undefined;
  const start = above === '/' ? 1 : above.length + 1;
  const end = below.indexOf('/', start);
  return end === -1 ? below : below.slice(0, end);
}

/** The part of `path` that `folded` names, in the spelling of `path`. `folded` is the path or an ancestor of it. */
export function spelledAs(path: string, folded: string): string {
  const count = folded.split('/').length;
  const spelled = path.split('/').slice(0, count).join('/');
  return isSamePath(spelled, folded) ? spelled : folded;
}
