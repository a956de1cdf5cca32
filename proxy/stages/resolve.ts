// Stage 2: a model name becomes an ordered list of places to try (spec: What the service does 2 and 4).
import { type Facts, onlyPath } from '../../domain/conditions/facts.ts';
import { allowsName, allowsTarget, type ModelAccess } from '../../domain/keys/model-access.ts';
import { isWithin } from '../../domain/user-path.ts';
import type { Call } from '../call/call.ts';
import { refusal } from '../errors.ts';
import type { ConditionalTargets, Route, Snapshot } from '../snapshot/snapshot.ts';
import { partOf } from './route-part.ts';

const anyone = onlyPath('/');

/**
 * Where a call with these facts leads for a caller restricted to `access` (undefined: to nothing). Throws 404 `model_not_found`, also for an
 * alias of other user paths, 400 `no_target_matches` when the conditions of all its targets are false, and 403 `model_access_denied` when none of its targets is granted. A restricted caller's routing member could
 * lead a provider past the restriction: targets at providers that do not allow that are left out, and when none remains it is 400
 * `routing_member_not_allowed`.
 */
export function resolve(
  { model, routingMember }: Pick<Call, 'model' | 'routingMember'>,
  snapshot: Snapshot,
  access: ModelAccess | undefined,
  facts: Facts = anyone,
): Route {
  const route = visibleRoute(snapshot, model, facts);
  if (route === undefined) throw refusal('model_not_found', { param: 'model', fill: { model } });
  return permittedPart(suitablePart(route, model, facts), { model, routingMember }, snapshot, access);
}

/** The part of a route whose conditions are not false. Throws 400 `no_target_matches` when that is empty. */
export function suitablePart(route: Route, model: string, facts: Facts): Route {
  if (route.conditional === undefined) return route;
  const part = partWhere(route, route.conditional, facts);
  if (part === undefined) throw refusal('no_target_matches', { param: 'model', fill: { model } });
  return part;
}

/** What is not known is not false. Undefined: nothing is left. */
export function partWhere(route: Route, { conditions, without }: ConditionalTargets, facts: Facts): Route | undefined {
  let refused: number[] | undefined;
  for (let place = 0; place < conditions.length; place += 1) {
    if (conditions[place]?.holds(facts) !== false) continue;
    refused ??= [];
    refused.push(place);
  }
  return refused === undefined ? route : without(refused);
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

/** Where a name leads for a request with these facts, in any letter case; undefined: nowhere. A condition that is not known is not false. */
export function visibleRoute({ routes }: Pick<Snapshot, 'routes'>, model: string, facts: Facts): Route | undefined {
  let route = routes.get(model) ?? routes.inAnyCase(model);
  while (route !== undefined && isHidden(route, facts)) route = route.behind;
  return route;
}

function isHidden({ userPaths, when }: Route, facts: Facts): boolean {
  const isOfOthers = userPaths !== undefined && !includesPath(userPaths, facts.path ?? '/');
  return isOfOthers || when?.holds(facts) === false;
}

/** Whether what a call asks for is an alias there; undefined: it is not known what it asks for. */
export function asksForAlias(
  call: { readonly model: string } | undefined,
  snapshot: Snapshot,
  userPath = '/',
): boolean | undefined {
  return call && (visibleRoute(snapshot, call.model, onlyPath(userPath))?.isAlias ?? false);
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
