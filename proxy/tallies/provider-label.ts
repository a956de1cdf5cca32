// The label of a provider in metrics that count requests: one series for all that are no longer configured, or they would add up over the
// months.

/** Stands for what has no series of its own. */
export const otherLabel = 'other';

/** The name of a provider with series of its own, else `other`. */
export function providerLabel(name: string, known: { has(name: string): boolean }): string {
  return known.has(name) ? name : otherLabel;
}
