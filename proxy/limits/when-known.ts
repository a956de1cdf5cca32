// A decision that may have to wait for the state store: made at once where it can be, else with the store's answer, within a bound.
import type { Fleet, Moment } from './fleet/fleet.ts';
import { noteWait } from './fleet/fleet-counts.ts';
import type { Need } from './fleet/waiting.ts';
import type { MatchedCounters, MatchedRules } from './match.ts';

/** Undefined: this proxy counts alone. */
function fleetOf(matched: MatchedCounters): Fleet | undefined {
  const [first] = matched;
  return first?.caps.isShared === true ? first.caps.tally.unsaved.fleet : undefined;
}

/** The present moment of the store, for uses that may be taken back. */
export function momentOf(matched: MatchedCounters, nowMs: number): Moment | undefined {
  return fleetOf(matched)?.moment(nowMs);
}

/** Whether a decision cannot be made before the store has granted what it needs. */
export function isAsking(decided: unknown): decided is readonly Need[] {
  return Array.isArray(decided);
}

/**
 * What `decide` decides now, or with an answer of the store: it gives what it needs as long as it cannot. `isLast`: it must decide with what
 * is known. All of `matches` are decided in the order in which they came.
 */
export function whenKnown<Decision>(
  matches: Pick<MatchedRules, 'matched'>,
  nowMs: number,
  decide: (nowMs: number, isLast: boolean) => Decision | readonly Need[],
): Decision | Promise<Decision> {
  const first = decide(nowMs, false);
  if (!isAsking(first)) return first;
  const fleet = fleetOf(matches.matched());
  if (fleet === undefined) throw new Error('nothing can be asked without a fleet');
  return new Promise((resolve, reject) => {
    fleet.wait({
      needs: first,
      untilMs: nowMs + fleet.leaseWaitMs,
      askAtMs: nowMs,
      decide(now, isLast) {
        try {
          const next = decide(now, isLast);
          if (isAsking(next)) return next;
          resolve(next);
        } catch (error) {
          // It ends this request, not those that wait behind it.
          reject(error instanceof Error ? error : new Error(String(error)));
        }
        noteWait(fleet.counts, now - nowMs);
        return undefined;
      },
    });
  });
}
