// Reads `Cache-Control` of a request (RFC 9111, 5.2.1), as far as it applies to the gateway's cache.

export interface CacheControl {
  /** The answer must be a new one. */
  readonly isFresh: boolean;
  /** The answer must not be kept, nor be one that was. */
  readonly isPrivate: boolean;
  /** How old the answer may be; Infinity: as old as the configuration lets it. Seconds. */
  readonly maxAgeSeconds: number;
}

const anything: CacheControl = { isFresh: false, isPrivate: false, maxAgeSeconds: Number.POSITIVE_INFINITY };
/** Of all such headers; what is longer may say anything. Characters. */
const longestHeader = 1_024;

/** Directives that are not known are passed over, and so is an age that is no number. */
export function readCacheControl(header: string | undefined): CacheControl {
  if (header === undefined) return anything;
  if (header.length > longestHeader) return { ...anything, isPrivate: true };
  let { isFresh, isPrivate, maxAgeSeconds } = anything;
  for (const directive of header.toLowerCase().split(',')) {
    const text = directive.trim();
    if (text === 'no-cache') isFresh = true;
    else if (text === 'no-store') isPrivate = true;
    const seconds = /^max-age="?(\d{1,10})"?$/.exec(text)?.[1];
    if (seconds !== undefined) maxAgeSeconds = Math.min(maxAgeSeconds, Number(seconds));
  }
  return { isFresh, isPrivate, maxAgeSeconds };
}
