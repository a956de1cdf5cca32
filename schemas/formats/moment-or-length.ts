// A moment as people give it to a command: RFC 3339, or a length back from now.
import { parseMoment } from './moment.ts';

const lengths: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Unix milliseconds of `2026-03-31T00:00:00Z`, or of `90m`, `24h`, `7d` before `nowMs`; undefined: it is neither. */
export function parseMomentOrLength(text: string, nowMs: number): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return amount === undefined ? parseMoment(text) : nowMs - Number(amount) * (lengths[unit] ?? 0);
}
