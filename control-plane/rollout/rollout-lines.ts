// The log lines of a rollout: when it begins, and how it ends.
import type { ConfigRollout, RolloutPhase, Trial } from '../../domain/config-rollouts/config-rollout.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { Log } from '../../plane/log-events.ts';

const messages: Readonly<Record<RolloutPhase, string>> = {
  canary: 'config rollout began: some proxies have the revision first',
  finished: 'config rollout finished: the revision is for all proxies',
  aborted: 'config rollout aborted: the former revision is for all proxies',
  withdrawn: 'config rollout withdrawn',
};

/** Logs each change once. The first state is told only where it is under way. */
export function createRolloutLines(log: Pick<Log, 'info' | 'warn'>): (rollout: ConfigRollout | undefined) => void {
  let told: string | undefined;
  return (rollout) => {
    const { trial } = rollout ?? {};
    const isFirst = told === undefined;
    const now = trial === undefined ? '' : `${trial.revision} ${trial.beganMs} ${trial.phase}`;
    if (now === told) return;
    told = now;
    if (trial === undefined || (isFirst && (trial.phase === 'finished' || trial.phase === 'withdrawn'))) return;
    log[trial.phase === 'aborted' ? 'warn' : 'info'](factsOf(trial, rollout?.stable), messages[trial.phase]);
  };
}

function factsOf(
  { revision, proxies, phase, beganMs, untilMs, reason, by }: Trial,
  stable: string | undefined,
): object {
  return {
    config_revision: revision,
    ...(stable === revision ? {} : { former_revision: stable }),
    proxies,
    began_at: timestamp(beganMs),
    [phase === 'canary' ? 'until' : 'ended_at']: timestamp(untilMs),
    ...(reason === undefined ? {} : { reason }),
    ...(by === undefined ? {} : { updated_by: by }),
  };
}
