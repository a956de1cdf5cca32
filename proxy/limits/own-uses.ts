// What this proxy has counted under one shared counter: a store that has lost it, or never knew, is told.
import type { OwnUse } from './fleet/tell-again.ts';
import type { Counter } from './tally.ts';
import { requests, tokens } from './window.ts';

/** Nothing for a counter that is not shared. `nowMs` in Unix milliseconds. */
export function* ownUsesOf({ window, shared, tally }: Counter, nowMs: number): Generator<OwnUse, void> {
  if (window === undefined || shared === undefined) return;
  window.advance(nowMs);
  const { requestsCap, tokensCap } = tally.caps;
  if (requestsCap !== Number.POSITIVE_INFINITY)
    yield { stock: shared.stock('requests', nowMs), pairs: window.pairs(requests) };
  if (tokensCap !== Number.POSITIVE_INFINITY)
    yield { stock: shared.stock('tokens', nowMs), pairs: window.pairs(tokens) };
}
