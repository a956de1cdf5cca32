// How long requests took, as counts by step. A step is 2^(1/8) wide, so a percentile is within 4.5 % of the true one. Pure.

const stepsPerDoubling = 8;
/** All that is shorter, or longer, falls into the first step, or the last one. Nanoseconds. */
const shortestNs = 1_000;
const lastStep = 40 * stepsPerDoubling;

/** How many times fell into each step. */
export type TimeSteps = Map<number, number>;

export function countTime(steps: TimeSteps, ns: number): void {
  const step = Math.floor(stepsPerDoubling * Math.log2(Math.max(ns, shortestNs) / shortestNs));
  const known = Math.min(step, lastStep);
  steps.set(known, (steps.get(known) ?? 0) + 1);
}

export function addSteps(to: TimeSteps, from: TimeSteps): void {
  for (const [step, count] of from) to.set(step, (to.get(step) ?? 0) + count);
}

/** The time in nanoseconds within which this share of all came; undefined: there are none. */
export function percentile(steps: TimeSteps, share: number): number | undefined {
  const wanted = share * [...steps.values()].reduce((sum, count) => sum + count, 0);
  let counted = 0;
  for (const [step, count] of [...steps].sort(([one], [other]) => one - other)) {
    counted += count;
    if (counted >= wanted) return Math.round(shortestNs * 2 ** ((step + 0.5) / stepsPerDoubling));
  }
  return undefined;
}

/** `40:3 41:7`: as it is kept. */
export function stepsText(steps: TimeSteps): string {
  return [...steps].map(([step, count]) => `${step}:${count}`).join(' ');
}

export function readSteps(text: string): TimeSteps {
  const pairs = text === '' ? [] : text.split(' ');
  return new Map(pairs.map((pair) => pair.split(':').map(Number) as [number, number]));
}
