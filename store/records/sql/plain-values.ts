// Texts and numbers of records as both databases take them, so that one value that a database refuses does not keep out the rest of its batch.

/** PostgreSQL takes no NUL in a text. */
export function plainText(text: string): string {
  return text.replaceAll('\0', '\ufffd');
}

export function plainTextOrNull(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : plainText(text);
}

/** Whole, and exact as a number of JavaScript. */
export function wholeNumber(value: number): number {
  const whole = Number.isFinite(value) ? Math.trunc(value) : 0;
  return Math.min(Math.max(whole, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/** Letters A to Z as small ones, as `lower` of both databases folds them. */
export function foldCase(text: string): string {
  return plainText(text).replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Unix milliseconds that have a timestamp (RFC 3339): the years 1970 to 9999. */
export function plainMoment(unixMs: number): number {
  return Math.min(Math.max(wholeNumber(unixMs), 0), 253_402_300_799_999);
}
