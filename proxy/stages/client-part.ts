// Which targets of a route a request may ask where some are asked with the credential of its client (`auth: client`).
import {
  type ClientRequest,
  credentialFor,
  credentialMissing,
  targetWith,
  upstreamWith,
} from '../snapshot/client-credential.ts';
import type { Route, Target, Upstream } from '../snapshot/snapshot.ts';
import { partOf } from './route-part.ts';

const noClient: ClientRequest['exchange'] = { head: { gatewayKey: undefined }, request: { rawHeaders: [] } };

/**
 * The route for one request, with the credential of its client at the targets of one provider: the first that is asked so and that the
 * credential is for. A credential is of one vendor, so targets of further such providers are left out, and without one all of them. Nothing
 * is asked side by side then: a subscription is not to be used for answers that are thrown away. Throws 401 `client_credential_missing`
 * when no target is left.
 */
export function clientPart(route: Route, asking: ClientRequest): Route {
  const first = route.targets.find(isOfClients);
  if (first === undefined) return route;
  const { part, provider } = partWithLogin(route, asking);
  if (part === undefined) throw credentialMissing(first.upstream, asking);
  const credential = provider && credentialFor(provider, asking);
  if (provider === undefined || credential === undefined) return part;
  const upstream = upstreamWith(provider, credential);
  const targets = part.targets.map((target) => (target.upstream === provider ? targetWith(target, upstream) : target));
  return { ...part, targets, hedge: undefined };
}

/** The part of a route whose targets a request may ask (undefined: none), and the provider that gets the credential of its client, if one does. */
export function partWithLogin(
  route: Route,
  asking: ClientRequest,
): { readonly part: Route | undefined; readonly provider: Upstream | undefined } {
  const provider = route.targets.find(
    (target) => isOfClients(target) && credentialFor(target.upstream, asking),
  )?.upstream;
  return { provider, part: partOf(route, (target) => !isOfClients(target) || target.upstream === provider) };
}

/** The part of a route for a question of the gateway itself, which has no client. Throws as `clientPart` does. */
export function partWithoutClients(route: Route, snapshot: ClientRequest['snapshot']): Route {
  return clientPart(route, { exchange: noClient, snapshot });
}

function isOfClients({ upstream }: Target): boolean {
  return upstream.clientAuth === 'needed';
}
