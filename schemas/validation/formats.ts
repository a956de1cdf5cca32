// Checks texts by what the standard JSON Schema lacks: the format `date-time` and the keyword `x-unit`.
import { parseMoment } from '../formats/moment.ts';
import {
  durationMs,
  largestSizeBytes,
  largestSpaceBytes,
  longestDurationMs,
  longestRetentionMs,
  retentionMs,
  sizeBytes,
} from '../formats/units.ts';

/** Formats by name. */
export const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => parseMoment(text) !== undefined,
};

interface Range {
  readonly amountOf: (text: string) => number;
  readonly most: number;
  /** Both ends, which belong to it, in words. */
  readonly says: string;
}

/** By the name of the unit. */
const ranges: Readonly<Record<string, Range>> & { readonly duration: Range } = {
  duration: { amountOf: durationMs, most: longestDurationMs, says: '1ms to 596h' },
  retention: { amountOf: retentionMs, most: longestRetentionMs, says: '1s to 365d' },
  size: { amountOf: sizeBytes, most: largestSizeBytes, says: '1B to 1GiB' },
  space: { amountOf: sizeBytes, most: largestSpaceBytes, says: '1MiB to 1048576GiB' },
};

/** The range of a unit, in words. */
export function rangeOf(unit: unknown): string {
  return (ranges[String(unit)] ?? ranges.duration).says;
}

/** The keyword `x-unit`. True for a text of the wrong form, because the pattern reports it: one mistake is reported once. */
export function isWithinRange(unit: string, text: string): boolean {
  try {
    const { amountOf, most } = ranges[unit] ?? ranges.duration;
    const amount = amountOf(text);
    return amount >= 1 && amount <= most;
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
}
