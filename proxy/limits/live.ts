// The present counts as plain numbers for the heartbeat: the control plane adds up those of all proxies.
import { windowEndMs, windowStartMs } from './span.ts';
import type { Tally } from './tally.ts';

/** The figures of all rules. `counters` and `windows` leave templates out and have the same order. */
export interface LiveFigures {
  /** Rule key, epoch, requests used, tokens used, requests in flight, tokens set aside; a rule without any is left out. */
  readonly counters: [
    key: string,
    epoch: number,
    requests: number,
    tokens: number,
    inFlight: number,
    reserved: number,
  ][];
  /**
   * Start of the oldest slice with use and end of the newest one's period, in Unix milliseconds; null for a concurrency
   * rule.
   */
  readonly windows: ([startMs: number, endMs: number] | null)[];
  /** The number of refusals per rule, templates included; a rule without any is left out. */
  readonly refused: [key: string, count: number][];
}

/** The rules between two pauses: they take less than a millisecond. */
const rulesAtOnce = 200;

/** Reads the figures of all tallies at `nowMs` (Unix milliseconds), with pauses for other work. Cost: one step per rule, none per child. */
export function* liveFigures(tallies: Iterable<Tally>, nowMs: number): Generator<undefined, LiveFigures, undefined> {
  const live: LiveFigures = { counters: [], windows: [], refused: [] };
  let read = 0;
  for (const tally of tallies) {
    read += 1;
    if (read % rulesAtOnce === 0) yield;
    const { caps } = tally;
    const { refused } = tally.decisions;
    if (refused > 0) live.refused.push([caps.rule.key, refused]);
    const counter = caps.rule.perChild ? undefined : tally.find('');
    if (counter === undefined || counter.isIdle(nowMs)) continue;
    const { window, inFlight, reserved } = counter;
    const { key, epoch } = caps.rule;
    live.counters.push([key, epoch, window?.requestsUsed ?? 0, window?.tokensUsed ?? 0, inFlight, reserved]);
    live.windows.push(window ? [windowStartMs(caps, counter, nowMs), windowEndMs(caps, counter, nowMs)] : null);
  }
  return live;
}
