// The log says once when the breaker of a target opens, and once when it stays closed again.
import type { Logger } from 'pino';
import type { TargetState } from '../targets/target-state.ts';
import type { KnownTarget, TargetStates } from '../targets/target-states.ts';

/** How often breakers are looked at. Milliseconds. */
const intervalMs = 1000;
/** Lines of one look: a provider with thousands of models may fail as a whole. The others follow in the next looks. */
const mostLines = 20;
/** A breaker that opens again within this time has not recovered: there is no line for it. Milliseconds. */
const settledMs = 10_000;

type Log = Pick<Logger, 'warn' | 'info'>;

/** Looks once a second for as long as the process runs. */
export function keepTargetLines(states: Pick<TargetStates, 'known'>, nowMs: () => number, log: Log): void {
  const tell = createTargetLines(log);
  setInterval(() => tell(states.known(), nowMs()), intervalMs).unref();
}

/** Writes what has changed since the last call. */
export function createTargetLines(log: Log): (known: Iterable<KnownTarget>, nowMs: number) => void {
  /** Of each target that was told to fail: when its breaker was last seen not closed. Unix milliseconds. */
  let failing = new Map<TargetState, number>();
  return (known, nowMs) => {
    // Targets that are gone are forgotten.
    const still = new Map<TargetState, number>();
    let lines = 0;
    for (const target of known) {
      const { state } = target;
      const seenMs = failing.get(state);
      const isClosed = state.breaker.state(nowMs) === 'closed';
      if (isClosed && seenMs === undefined) continue;
      const isNews = isClosed ? nowMs - (seenMs ?? 0) >= settledMs : seenMs === undefined;
      if (isNews && lines < mostLines) {
        lines += 1;
        log[isClosed ? 'info' : 'warn'](lineOf(target, isClosed));
        if (isClosed) continue;
      } else if (seenMs === undefined) continue;
      still.set(state, isClosed ? (seenMs ?? nowMs) : nowMs);
    }
    failing = still;
  };
}

function lineOf({ provider, model, state }: KnownTarget, isClosed: boolean): string {
  const target = `${provider}/${model}`;
  if (isClosed) return `${target} works again: its circuit breaker has been closed for ${settledMs / 1000} s`;
  const { failuresInARow = 0, failures = 0, calls = 0 } = state.breaker.cause ?? {};
  const row = `${failuresInARow} failure${failuresInARow === 1 ? '' : 's'} in a row`;
  return `${target} fails, so other targets are asked first: ${row}, ${failures} of the ${calls} calls of ten seconds failed`;
}
