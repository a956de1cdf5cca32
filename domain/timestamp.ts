// Formats and reads a time, and counts days. It does not read the clock.

/** RFC 3339 in UTC with milliseconds, such as 2026-01-31T12:00:00.000Z. */
export function timestamp(unixMs: number): string {
  return new Date(unixMs).toISOString();
}

/** From one day to another, both YYYY-MM-DD; negative when the other one is earlier. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 86_400_000;
}

/** Reads a time as RFC 3339 or as a header has it. Unix milliseconds; undefined: it is none. */
export function unixTime(text: string): number | undefined {
  const read = Date.parse(text);
  return Number.isNaN(read) ? undefined : read;
}

/** For packages that take no number. Unix milliseconds. */
export function dateOf(unixMs: number): Date {
  return new Date(unixMs);
}
