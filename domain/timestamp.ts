// Formats a time as RFC 3339. It does not read the clock.

/** RFC 3339 in UTC with milliseconds, such as 2026-01-31T12:00:00.000Z. */
export function timestamp(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
