// How long something takes, as tests of the configuration write it.

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `300ms`, `30s`, `5m`, `24h`, `31d`, which the schema has checked; windows of budgets are longer than durations elsewhere. */
export function lengthMs(text: string): number {
  const [, amount, unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  return Number(amount) * (units[unit] ?? Number.NaN);
}
