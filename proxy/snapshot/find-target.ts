// The target of a provider's model, as the configuration has it.
import type { Snapshot, Target, Upstream } from './snapshot.ts';

/** Undefined: the configuration says nothing of this model. */
export function findTarget(
  upstream: Upstream,
  model: string | undefined,
  { routes }: Pick<Snapshot, 'routes'>,
): Target | undefined {
  const target = routes.targets.get(upstream.name)?.get(model ?? '');
  return target?.upstream === upstream ? target : undefined;
}
