// What is counted now, as plain numbers for the heartbeat: the control plane adds up what all proxies say.
import { windowEndMs, windowStartMs } from './span.ts';
import type { Tally } from './tally.ts';

/** The live figures of rules; the first two, of those that are no templates, in lists of the same order. */
export interface LiveFigures {
  /** Rule key, epoch, requests used, tokens used, requests in flight; a rule without any is left out. */
  readonly counters: [key: string, epoch: number, requests: number, tokens: number, inFlight: number][];
  /** When the present use began and when all of it will have left, in Unix milliseconds; null for concurrency. */
  readonly windows: ([startMs: number, endMs: number] | null)[];
  /** How often each rule has refused, templates too; those that never have are left out. */
  readonly refused: [key: string, count: number][];
}

export function liveFigures(tallies: Iterable<Tally>, nowMs: number): LiveFigures {
  const live: LiveFigures = { counters: [], windows: [], refused: [] };
  for (const tally of tallies) {
    const { caps } = tally;
    const { refused } = tally.decisions;
    if (refused > 0) live.refused.push([caps.rule.key, refused]);
    const counter = caps.rule.perChild ? undefined : tally.find('');
    if (counter === undefined || counter.isIdle(nowMs)) continue;
    const { window, inFlight } = counter;
    const { key, epoch } = caps.rule;
    live.counters.push([key, epoch, window?.requestsUsed ?? 0, window?.tokensUsed ?? 0, inFlight]);
    live.windows.push(window ? [windowStartMs(caps, counter, nowMs), windowEndMs(caps, counter, nowMs)] : null);
  }
  return live;
}
