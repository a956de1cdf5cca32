// Where a recorded request leads in a configuration: the part of the route that its caller may use, and the order of its targets.
import type { Facts } from '../../domain/conditions/facts.ts';
import { onlyPath } from '../../domain/conditions/facts.ts';
import type { ModelAccess } from '../../domain/keys/model-access.ts';
import type { TrafficLine } from '../../domain/records/traffic.ts';
import type { Route, Snapshot } from '../snapshot/snapshot.ts';
import { grantedPart, partWhere, visibleRoute } from '../stages/resolve.ts';

/** A request, as far as conditions ask about it: what is not recorded is not known. */
export function factsOf(line: TrafficLine, userPath: string, labels: readonly string[], snapshot: Snapshot): Facts {
  const { hour, weekday } = snapshot.localTime.at(line.at);
  return {
    ...onlyPath(userPath),
    labels,
    endpoint: line.path,
    stream: line.stream === true,
    tokens: line.tokens?.input,
    hour,
    weekday,
  };
}

/** A route, or the error code that the request gets. */
export type Whither =
  | { readonly route: Route; readonly code?: undefined }
  | { readonly route?: undefined; readonly code: 'model_not_found' | 'no_target_matches' | 'model_access_denied' };

export function whereTo(model: string, facts: Facts, access: ModelAccess | undefined, snapshot: Snapshot): Whither {
  const route = visibleRoute(snapshot, model, facts);
  if (route === undefined) return { code: 'model_not_found' };
  const suitable = route.conditional === undefined ? route : partWhere(route, route.conditional, facts);
  if (suitable === undefined) return { code: 'no_target_matches' };
  const granted = access === undefined ? suitable : grantedPart(suitable, model, access, snapshot.providers);
  return granted === undefined ? { code: 'model_access_denied' } : { route: granted };
}

const signatures = new WeakMap<Route, string>();

/** Equal for routes that choose in the same way among the same targets. */
export function signatureOf(route: Route): string {
  let signature = signatures.get(route);
  if (signature === undefined) {
    const { strategy, targets, weights, tiers } = route;
    const names = targets.map(({ upstream, model }) => `${upstream.name}/${model}`);
    signature = JSON.stringify([strategy, names, weights, tiers]);
    signatures.set(route, signature);
  }
  return signature;
}
