// The periods of a limit in seconds; a named period is a number of seconds.

/** Spec "Named periods"; 0 means requests in flight instead of a window. */
export const namedPeriods = { minute: 60, hour: 3_600, day: 86_400, concurrent: 0 } as const;

export type NamedPeriod = keyof typeof namedPeriods;

/** The length of a limit's period; `minute` and 60 seconds are the same period. A limit without either counts as concurrent. */
export function periodSeconds(limit: { period?: NamedPeriod; period_seconds?: number }): number {
  return limit.period_seconds ?? namedPeriods[limit.period ?? 'concurrent'];
}

/** `minute`, `hour`, `day`, `concurrent`, otherwise for example `300s`. */
export function periodLabel(seconds: number): string {
  for (const [name, length] of Object.entries(namedPeriods)) if (length === seconds) return name;
  return `${seconds}s`;
}
