// Judges what a limiter admitted by what its clients saw alone, in both directions, so that it can judge any gateway.

/**
 * One request as its client saw it. Milliseconds of one clock. `unavailable`: 503, it was not served and the cap did not decide it.
 * `unclear`: no answer, or another one; it may have been counted.
 */
export interface Answer {
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly outcome: 'admitted' | 'refused' | 'unavailable' | 'unclear';
}

export interface Cap {
  readonly cap: number;
  readonly periodMs: number;
}

export interface Verdict {
  readonly admitted: number;
  readonly refused: number;
  readonly unavailable: number;
  readonly unclear: number;
  /** The most requests that one period holds for sure: admitted ones that were both sent and answered within it. */
  readonly surely: number;
  /** No period holds more: requests, admitted or unclear, that were under way at some moment of it. */
  readonly possibly: number;
  /** Refusals while the cap had room for sure. */
  readonly wronglyRefused: number;
  /** The most room that the cap had at a refusal for sure. */
  readonly mostRoom: number;
}

/** Clocks of two machines may differ by so much. */
const clockRate = 200e-6;
/** A limiter may count in slices of the period: a request then counts for up to one slice longer. */
const slices = 60;

/** Each request was counted at some moment between being sent and being answered; nothing else is assumed. */
export function judge(answers: readonly Answer[], { cap, periodMs }: Cap): Verdict {
  const of = (outcome: Answer['outcome']): readonly Answer[] => answers.filter((one) => one.outcome === outcome);
  const admitted = of('admitted');
  const unclear = of('unclear');
  const perhaps = [...admitted, ...unclear];
  const under = underWay(perhaps);
  const refused = of('refused');
  const longestMs = periodMs * (1 + 1 / slices + clockRate);
  const rooms = refused.map(({ sentMs, answeredMs }) => cap - under(sentMs - longestMs, answeredMs));
  return {
    admitted: admitted.length,
    refused: refused.length,
    unavailable: of('unavailable').length,
    unclear: unclear.length,
    surely: mostWithin(admitted, periodMs * (1 - clockRate)),
    possibly: perhaps.reduce((most, { sentMs }) => Math.max(most, under(sentMs - periodMs, sentMs)), 0),
    wronglyRefused: rooms.filter((room) => room > 0).length,
    mostRoom: rooms.reduce((most, room) => Math.max(most, room), 0),
  };
}

/** The most of them that were sent and answered within one stretch of that length. */
function mostWithin(admitted: readonly Answer[], lengthMs: number): number {
  const sorted = admitted.toSorted((one, other) => one.sentMs - other.sentMs);
  let most = 0;
  for (let first = 0; first < sorted.length; first += 1) {
    const endMs = (sorted[first]?.sentMs ?? 0) + lengthMs;
    let count = 0;
    for (let index = first; index < sorted.length; index += 1) {
      const { sentMs, answeredMs } = sorted[index] as Answer;
      if (sentMs > endMs) break;
      if (answeredMs <= endMs) count += 1;
    }
    most = Math.max(most, count);
  }
  return most;
}

/** Gives how many of them were under way at some moment between two moments, both included. */
function underWay(answers: readonly Answer[]): (fromMs: number, toMs: number) => number {
  const sent = Float64Array.from(answers, ({ sentMs }) => sentMs).sort();
  const answered = Float64Array.from(answers, ({ answeredMs }) => answeredMs).sort();
  return (fromMs, toMs) => countBelow(sent, toMs, true) - countBelow(answered, fromMs, false);
}

/** How many of the sorted values are below a bound, or equal to it if `isIncluded`. */
function countBelow(sorted: Float64Array, bound: number, isIncluded: boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const value = sorted[middle] as number;
    if (value < bound || (isIncluded && value === bound)) low = middle + 1;
    else high = middle;
  }
  return low;
}
