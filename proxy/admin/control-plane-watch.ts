// Whether the control plane answers: asked every two seconds, told to the log when it changes.
import type { Logger } from 'pino';
import { singleFlight } from '../../store/single-flight.ts';
import { answersHealth } from '../upstream/forward.ts';
import type { Origin, Pools } from '../upstream/pools.ts';

/** How often the control plane is asked, and how long connecting to it may take. */
const checkMs = 2_000;
export const controlPlaneConnectMs = 1_000;

export interface ControlPlaneWatch {
  /** As of the last check; true before the first. */
  answers(): boolean;
}

/** Asks `controlPlane` at once, then every two seconds. */
export function watchControlPlane(
  pools: Pools,
  controlPlane: Origin,
  log: Pick<Logger, 'info' | 'warn'>,
): ControlPlaneWatch {
  let isAnswering = true;
  const checking = singleFlight(async () => {
    const answers = await answersHealth(pools.get(controlPlane), controlPlaneConnectMs);
    if (answers !== isAnswering) {
      log[answers ? 'info' : 'warn'](`the control plane ${answers ? 'answers' : 'does not answer'}`);
    }
    isAnswering = answers;
  });
  setInterval(() => void checking.join(), checkMs).unref();
  void checking.join();
  return { answers: () => isAnswering };
}
