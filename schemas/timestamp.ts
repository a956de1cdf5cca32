// Moments as people and APIs write them. Formatting is not reading the clock.

/** RFC 3339 in UTC with milliseconds, such as 2026-01-31T12:00:00.000Z. */
export function timestamp(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
