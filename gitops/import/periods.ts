// Periods of budgets as others write them, such as 30d, in the words of the configuration.

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800, mo: 2_592_000 };
const named: Readonly<Record<number, string>> = {
  3600: 'hourly',
  86400: 'daily',
  604800: 'weekly',
  2592000: 'monthly',
};

/** `30d` and `1mo` are a month. Undefined: it is no period. */
export function budgetPeriod(text: string): { period: string } | { period_seconds: number } | undefined {
  const [, count, unit = ''] = /^(\d{1,9})(s|m|h|d|w|mo)$/.exec(text.trim().toLowerCase()) ?? [];
  const length = Number(count) * (seconds[unit] ?? Number.NaN);
  if (!(length >= 1 && length <= 2_147_483_647)) return undefined;
  const period = named[length];
  return period === undefined ? { period_seconds: length } : { period };
}
