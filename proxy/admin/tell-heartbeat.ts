// Tells the control plane a heartbeat that the state store does not take: then an outage of the store does not look like one of this proxy.
import { heartbeatPath } from '../../schemas/heartbeat-path.ts';
import type { HeartbeatBody } from '../../store/state/heartbeat-body.ts';
import { forward } from '../upstream/forward.ts';
import type { Pools } from '../upstream/pools.ts';
import type { ControlPlaneLink } from './control-plane-link.ts';

/** The figures of more rules than these are left out: the control plane takes bodies of a bounded size. */
const mostRules = 1_000;
/** How long it may take: the next heartbeat waits for it. Milliseconds. */
const deadlineMs = 1_000;
/** How long nothing is told after a refusal: another master key counts as a failed login, an older control plane does not listen. Milliseconds. */
const refusedMs = 60_000;

export interface TellParts {
  readonly controlPlane: ControlPlaneLink;
  readonly pools: Pools;
  /** Milliseconds of a monotonic clock. */
  readonly nowMs: () => number;
}

/** What is returned tells one heartbeat, and never rejects: one that is not heard is followed by the next. */
export function createHeartbeatTeller(
  instance: string,
  { controlPlane, pools, nowMs }: TellParts,
): (heartbeat: HeartbeatBody) => Promise<void> {
  let silentUntilMs = 0;

  async function tell(heartbeat: HeartbeatBody): Promise<void> {
    const body = Buffer.from(JSON.stringify({ instance, heartbeat: withoutManyCounters(heartbeat) }));
    const headers = { ...controlPlane.authorisation(), 'content-type': 'application/json' };
    const said = { method: 'POST', path: heartbeatPath, headers, body };
    const answer = await forward(pools.get(controlPlane), said, deadlineMs, AbortSignal.timeout(deadlineMs));
    if (answer.statusCode >= 400 && answer.statusCode < 500) silentUntilMs = nowMs() + refusedMs;
    await answer.body.dump();
  }

  return async (heartbeat) => {
    if (nowMs() >= silentUntilMs) await tell(heartbeat).catch(() => undefined);
  };
}

function withoutManyCounters(heartbeat: HeartbeatBody): HeartbeatBody {
  if (heartbeat.counters.length <= mostRules) return heartbeat;
  const { windows: _, refused: __, ...others } = heartbeat;
  return { ...others, counters: [] };
}
