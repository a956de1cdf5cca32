// What the schemas say of texts in words of their own: the format `date-time` and the keyword `x-unit`.
import { parseMoment } from '../rules/moment.ts';
import { durationMs, largestSizeBytes, longestDurationMs, sizeBytes } from '../units.ts';

/** Formats by name. */
export const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => parseMoment(text) !== undefined,
};

/** The keyword `x-unit`. True for a text of the wrong form, because the pattern reports it: one mistake is reported once. */
export function isWithinRange(unit: string, text: string): boolean {
  try {
    const [amount, most] =
      unit === 'size' ? [sizeBytes(text), largestSizeBytes] : [durationMs(text), longestDurationMs];
    return amount >= 1 && amount <= most;
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
}
