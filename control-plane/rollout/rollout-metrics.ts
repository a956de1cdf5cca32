// The metrics of a rollout of the configuration.
import type { RolloutPhase } from '../../domain/config-rollouts/config-rollout.ts';
import type { RevisionFigures } from '../../domain/config-rollouts/figures.ts';

/** Undefined: nothing was rolled out. `figures`: while it is under way. */
export type RolloutReading = () =>
  | { readonly phase: RolloutPhase; readonly figures: RevisionFigures | undefined }
  | undefined;

const phases: readonly RolloutPhase[] = ['canary', 'finished', 'aborted', 'withdrawn'];

export function rolloutReaders(rollout: RolloutReading): Record<RolloutMetric, () => Samples> {
  const figures = (): RevisionFigures | undefined => rollout()?.figures;
  return {
    rolloutPhase: () => phases.map((phase) => [{ phase }, rollout()?.phase === phase ? 1 : 0]),
    rolloutRequests: () => shown({}, figures()?.requests),
    rolloutShare: () => [
      ...shown({ of: 'errors' }, figures()?.errorShare),
      ...shown({ of: 'refusals' }, figures()?.refusalShare),
    ],
    rolloutFirstByte() {
      const p95Ms = figures()?.p95Ms;
      return shown({}, typeof p95Ms === 'number' ? p95Ms / 1000 : p95Ms);
    },
  };
}

type Samples = (readonly [labels: Readonly<Record<string, string>>, value: number])[];
type RolloutMetric = 'rolloutPhase' | 'rolloutRequests' | 'rolloutShare' | 'rolloutFirstByte';

function shown(labels: Readonly<Record<string, string>>, value: number | null | undefined): Samples {
  return value === null || value === undefined ? [] : [[labels, value]];
}
