// Stage 2: a model name becomes an ordered list of places to try (spec: What the service does 2 and 4).
import { allowsName, allowsTarget, type ModelAccess } from '../../domain/keys/model-access.ts';
import { isWithin } from '../../domain/user-path.ts';
import type { Call } from '../call/call.ts';
import { refusal } from '../errors.ts';
import type { Route, Snapshot } from '../snapshot/snapshot.ts';
import { partOf } from './route-part.ts';

/**
 * Where a call leads for a caller at `userPath` restricted to `access` (undefined: to nothing). Throws 404 `model_not_found`, also for an
 * alias of other user paths, and 403 `model_access_denied` when none of its targets is granted. A restricted caller's routing member could
 * lead a provider past the restriction: targets at providers that do not allow that are left out, and when none remains it is 400
 * `routing_member_not_allowed`.
 */
export function resolve(
  { model, routingMember }: Pick<Call, 'model' | 'routingMember'>,
  snapshot: Snapshot,
  access: ModelAccess | undefined,
  userPath = '/',
): Route {
  const route = visibleRoute(snapshot, model, userPath);
  if (route === undefined) throw refusal('model_not_found', { param: 'model', fill: { model } });
  return permittedPart(route, { model, routingMember }, snapshot, access);
}

/** The part of a route that a caller may use. Throws what `resolve` does when that is empty. */
export function permittedPart(
  route: Route,
  { model, routingMember }: Pick<Call, 'model' | 'routingMember'>,
  snapshot: Snapshot,
  access: ModelAccess | undefined,
): Route {
  if (access === undefined) return route;
  const granted = grantedPart(route, model, access, snapshot.providers);
  if (granted === undefined) throw refusal('model_access_denied', { param: 'model', fill: { model } });
  if (routingMember === undefined) return granted;
  const part = partOf(granted, ({ upstream }) => upstream.allowsRoutingMembers);
  if (part === undefined) {
    throw refusal('routing_member_not_allowed', { param: routingMember, fill: { member: routingMember } });
  }
  return part;
}

/** Where a name leads for a user path, in any letter case; undefined: nowhere. */
export function visibleRoute({ routes }: Pick<Snapshot, 'routes'>, model: string, userPath: string): Route | undefined {
  let route = routes.get(model) ?? routes.inAnyCase(model);
  while (route?.userPaths !== undefined && !includesPath(route.userPaths, userPath)) route = route.behind;
  return route;
}

/** Whether what a call asks for is an alias there; undefined: it is not known what it asks for. */
export function asksForAlias(
  call: { readonly model: string } | undefined,
  snapshot: Snapshot,
  userPath = '/',
): boolean | undefined {
  return call && (visibleRoute(snapshot, call.model, userPath)?.isAlias ?? false);
}

function includesPath(paths: readonly string[], userPath: string): boolean {
  for (const path of paths) if (isWithin(userPath, path)) return true;
  return false;
}

/**
 * The route with only the targets a request for `model` may use; undefined when that is none. `providers`: the names of all that are
 * configured, folded.
 */
export function grantedPart(
  route: Route,
  model: string,
  access: ModelAccess,
  providers: ReadonlySet<string>,
): Route | undefined {
  if (allowsName(access, model) || (route.family !== undefined && allowsName(access, route.family))) return route;
  return partOf(route, ({ upstream, model: id }) => allowsTarget(access, upstream.name, id, providers));
}
