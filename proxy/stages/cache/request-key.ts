// The parts of a request that decide its answer: the cache key.
import type { Member } from '../../bytes/scan.ts';
import { cacheKey } from '../../cache/cache-key.ts';
import type { Caching } from '../../cache/caching.ts';
import { normalise } from '../../cache/normalised-body.ts';
import { routeIdentity } from '../../cache/route-identity.ts';
import { largeBytes } from '../../call/call.ts';
import { addForwarded } from '../../call/forwarded-headers.ts';
import type { Operation } from '../../dialects/dialect.ts';
import type { Exchange } from '../../http/exchange.ts';
import { ownerOf } from '../../kept/owner.ts';
import type { Principal } from '../authenticate.ts';
import type { Guarded } from '../guard.ts';

/** Raise it with every change of what keys are made of. */
const keyVersion = '2';

/** Who asks, and how. */
export interface Asking {
  readonly row: { readonly operation: Operation };
  readonly exchange: Exchange;
  readonly principal: Principal | undefined;
}

/** Undefined: the answer must not be another's. */
export function keyOf(guarded: Guarded, asking: Asking, caching: Caching): string | undefined {
  const members = decidingMembers(guarded, asking, caching);
  return members && cacheKey(`${headOf(guarded, asking, caching)}\0`, guarded.call.body, members);
}

/** Those members of the body that decide the answer. Undefined: the answer must not be another's. */
export function decidingMembers(
  { call, home, named }: Guarded,
  { row, principal }: Asking,
  { settings }: Caching,
): readonly Member[] | undefined {
  // A long body would hold others up while it is hashed.
  if (home !== undefined || isOfClient(named) || principal === undefined || call.body.length > largeBytes)
    return undefined;
  const normalised = normalise(call, row.operation);
  const isApart = normalised === undefined || (settings.onlyDeterministic && !normalised.isDeterministic);
  return isApart ? undefined : normalised.members;
}

/** The credential of the client may be used, so the answer may be one for its account alone. */
function isOfClient({ targets }: Guarded['named']): boolean {
  for (const { upstream } of targets) if (upstream.clientAuth !== 'none') return true;
  return false;
}

/** The facts beside the body on which the answer depends, a NUL behind each: no name of a model, path or header contains one. */
export function headOf({ call, named }: Guarded, { row, exchange, principal }: Asking, { settings }: Caching): string {
  const { scope, resets } = settings;
  const { text, models, forwarded } = routeIdentity(named, row.operation);
  const { kind = '', keyId = '', userPath = '' } = principal ?? {};
  // Keys without a path share `/`, and no answers.
  const path = scope === 'gateway' || principal === undefined ? '' : ownerOf(principal);
  const key = scope === 'key' ? `${kind} ${keyId}` : '';
  const mark = resets.isEmpty ? '' : resets.markOf(userPath, [call.model, ...models]);
  const head = `${keyVersion}\0${row.operation}\0${text}\0${scope}\0${path}\0${key}\0${mark}\0${call.model}\0`;
  return `${head}${headersIn(exchange, forwarded)}`;
}

/** The headers of the client that providers see. */
function headersIn({ request }: Exchange, names: readonly string[]): string {
  if (names.length === 0) return '';
  const headers: string[] = [];
  addForwarded(headers, request.rawHeaders, names);
  return headers.map((text) => `${text}\0`).join('');
}
