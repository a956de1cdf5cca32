// Parses durations and sizes of the configuration into numbers.

const milliseconds: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const bytes: Record<string, number> = { B: 1, KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 };

/** Timers hold 31 bits of milliseconds; a longer one would fire at once. */
export const longestDurationMs = 2_147_483_647;
/** A year: what is kept for longer belongs into an archive. */
export const longestRetentionMs = 31_536_000_000;
/** A body of this size must fit into one buffer. */
export const largestSizeBytes = 1_073_741_824;
/** On a disk; a pebibyte. */
export const largestSpaceBytes = 1_048_576 * 1_073_741_824;

/** `"300ms"`, `"10s"`, `"60m"`, `"1h"` → milliseconds. Throws a RangeError for anything else. */
export function durationMs(text: string): number {
  return measure(text, /^([0-9]+)(ms|s|m|h)$/, milliseconds);
}

/** `"90s"`, `"30m"`, `"12h"`, `"30d"` → milliseconds, more than a timer takes. Throws a RangeError for anything else. */
export function retentionMs(text: string): number {
  return measure(text, /^([0-9]+)(s|m|h|d)$/, milliseconds);
}

/** `"512B"`, `"64KiB"`, `"32MiB"`, `"1GiB"` → bytes. Throws a RangeError for anything else. */
export function sizeBytes(text: string): number {
  return measure(text, /^([0-9]+)(B|KiB|MiB|GiB)$/, bytes);
}

function measure(text: string, shape: RegExp, unit: Record<string, number>): number {
  const match = shape.exec(text);
  const factor = unit[match?.[2] ?? ''];
  if (match === null || factor === undefined) throw new RangeError(`not a duration or size: ${JSON.stringify(text)}`);
  return Number(match[1]) * factor;
}
