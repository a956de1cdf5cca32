// The target with the shortest time to its first byte comes first; sometimes another one does, to measure it.
import type { Ballot } from './ballot.ts';
import type { Turn } from './turns.ts';

/** One request of so many goes to another target than the fastest. */
const exploreEvery = 20;

/**
 * The fastest first, then the others by their time, those of which nothing is known last. One request of 20 begins with another one: with
 * the next of which nothing is known, else with the next in turn. While nothing is known of any, they take turns.
 */
export function rankByLatency(count: number, turn: Turn, ballot: Ballot): void {
  let best = -1;
  for (let index = 0; index < count; index += 1) {
    if (!ballot.isUsable(index)) continue;
    const mean = ballot.states[index]?.latency.mean() ?? Number.POSITIVE_INFINITY;
    ballot.keys[index] = mean;
    if (!ballot.isForemost(index)) continue;
    if (mean < (best === -1 ? Number.POSITIVE_INFINITY : (ballot.keys[best] ?? 0))) best = index;
  }
  if (ballot.hasProbe) return;
  turn.requests += 1;
  if (best !== -1 && turn.requests % exploreEvery !== 0) return;
  const explored = nextUnknown(count, turn, ballot) ?? nextOther(count, best, turn, ballot);
  if (explored === undefined) return;
  turn.explored = explored;
  ballot.keys[explored] = -1;
}

function nextUnknown(count: number, { explored }: Turn, ballot: Ballot): number | undefined {
  for (let step = 1; step <= count; step += 1) {
    const index = (explored + step) % count;
    if (ballot.isForemost(index) && ballot.keys[index] === Number.POSITIVE_INFINITY) return index;
  }
  return undefined;
}

function nextOther(count: number, best: number, { explored }: Turn, ballot: Ballot): number | undefined {
  for (let step = 1; step <= count; step += 1) {
    const index = (explored + step) % count;
    if (index !== best && ballot.isForemost(index)) return index;
  }
  return undefined;
}
