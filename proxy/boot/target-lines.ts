// The log says once when a target fails, or is limited for long, and once when nothing stands in its way any more.
import type { Logger } from 'pino';
import type { TargetState } from '../targets/target-state.ts';
import type { KnownTarget, TargetStates } from '../targets/target-states.ts';

/** How often targets are looked at. Milliseconds. */
const intervalMs = 1000;
/** Lines of one look: a provider with thousands of models may fail as a whole. The others follow in the next looks. */
const mostLines = 20;
/**
 * A breaker that opens again within this time has not recovered, and a provider that asks to be left alone for less than it limits as usual:
 * there is no line for it. Milliseconds.
 */
const settledMs = 10_000;

type Log = Pick<Logger, 'warn' | 'info'>;

/** Looks once a second for as long as the process runs. */
export function keepTargetLines(states: Pick<TargetStates, 'known'>, nowMs: () => number, log: Log): void {
  const tell = createTargetLines(log);
  setInterval(() => tell(states.known(), nowMs()), intervalMs).unref();
}

/** Writes what has changed since the last call. */
export function createTargetLines(log: Log): (known: Iterable<KnownTarget>, nowMs: number) => void {
  /** Of each target that was told of: when it was last seen in trouble. Unix milliseconds. */
  let failing = new Map<TargetState, number>();
  return (known, nowMs) => {
    // Targets that are gone are forgotten.
    const still = new Map<TargetState, number>();
    let lines = 0;
    for (const target of known) {
      const { state } = target;
      const seenMs = failing.get(state);
      const trouble = troubleOf(state, nowMs);
      const isWell = trouble === undefined;
      if (isWell && seenMs === undefined) continue;
      const isNews = isWell ? nowMs - (seenMs ?? 0) >= settledMs : seenMs === undefined;
      if (isNews && lines < mostLines) {
        lines += 1;
        log[isWell ? 'info' : 'warn'](lineOf(target, trouble));
        if (isWell) continue;
      } else if (seenMs === undefined) continue;
      still.set(state, isWell ? (seenMs ?? nowMs) : nowMs);
    }
    failing = still;
  };
}

function troubleOf(state: TargetState, nowMs: number): 'fails' | 'limited' | undefined {
  if (state.breaker.state(nowMs) !== 'closed') return 'fails';
  const { reason, sinceMs = nowMs } = state.obstacle(nowMs) ?? {};
  return reason === 'resting' && nowMs - sinceMs >= settledMs ? 'limited' : undefined;
}

function lineOf({ provider, model, state }: KnownTarget, trouble: ReturnType<typeof troubleOf>): string {
  const target = `${provider}/${model}`;
  if (trouble === undefined) return `${target} works again: nothing has stood in its way for ${settledMs / 1000} s`;
  if (trouble === 'limited')
    return `${target} has served nothing for ${settledMs / 1000} s, and its provider asks to be left alone (429), so other targets are asked first`;
  const { failuresInARow = 0, failures = 0, calls = 0 } = state.breaker.cause ?? {};
  const row = `${failuresInARow} failure${failuresInARow === 1 ? '' : 's'} in a row`;
  return `${target} fails, so other targets are asked first: ${row}, ${failures} of the ${calls} calls of ten seconds failed`;
}
