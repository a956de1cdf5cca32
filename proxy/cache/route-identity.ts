// The identity of a route in the key of an answer: another target, address or setting gives another text.
import { hash } from 'node:crypto';
import type { Operation } from '../dialects/dialect.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';

export interface RouteIdentity {
  readonly text: string;
  /** The names of its models: where they were asked, and the bare ids. */
  readonly models: readonly string[];
  /** Headers of the client that some target would get, in lower case. */
  readonly forwarded: readonly string[];
}

/** A route stays the same object until another configuration is in force. */
const known = new WeakMap<Route, Map<Operation, RouteIdentity>>();

export function routeIdentity(route: Route, operation: Operation): RouteIdentity {
  let identities = known.get(route);
  if (identities === undefined) {
    identities = new Map();
    known.set(route, identities);
  }
  let identity = identities.get(operation);
  if (identity === undefined) {
    identity = identityOf(route, operation);
    identities.set(operation, identity);
  }
  return identity;
}

function identityOf({ targets }: Route, operation: Operation): RouteIdentity {
  const told = targets.map((target) => toldOf(target, operation));
  const models = targets.flatMap(({ upstream, model }) => [`${upstream.name}/${model}`, model]);
  const forwarded = targets.flatMap(({ upstream, speeches }) => [
    ...(upstream.forwarded ?? []),
    ...(speeches[operation]?.versions ?? []),
  ]);
  return {
    text: hash('sha256', JSON.stringify(told), 'base64url'),
    models: [...new Set(models)],
    forwarded: [...new Set(forwarded)],
  };
}

function toldOf({ upstream, model, speeches }: Target, operation: Operation): readonly unknown[] {
  const { name, type, origin, headers, unsupported } = upstream;
  const speech = speeches[operation];
  return [name, type, origin, model, headers, unsupported, speech?.format, speech?.path, speech?.headers];
}
