// How the answer to an opaque call goes to its client: as it is, with the provider's headers where the door says so, and through the taps of
// its aim.

import type { Exchange } from '../http/exchange.ts';
import { providerHeaders } from '../providers/upstream-id.ts';
import type { ConsumerAllowance } from '../routing/limit-refusal.ts';
import { announce } from '../stages/announce.ts';
import type { Principal } from '../stages/authenticate.ts';
import type { Delivery } from '../stages/relay.ts';
import type { UsageSource } from '../tokens/token-usage.ts';
import { passableHeaders } from './answer-headers.ts';
import type { AskedTarget } from './attempt-opaque.ts';
import type { Aim, OpaqueDoor, OpaqueTarget, Tapped } from './door.ts';

/** Who gets it. */
interface Receiver {
  readonly door: OpaqueDoor;
  readonly method: string;
  readonly aim: Aim | undefined;
  readonly consumer: ConsumerAllowance | undefined;
  readonly principal: Principal | undefined;
  readonly exchange: Exchange;
}

export function deliverOpaque(
  { target, allowance, reply }: AskedTarget,
  { door, method, aim, consumer, principal, exchange }: Receiver,
  { nowMs }: { readonly nowMs: () => number },
): { readonly delivery: Delivery; readonly usage: UsageSource | undefined } {
  if (consumer === undefined || aim === undefined) throw new Error('a call was answered before it was made');
  const { answer } = reply;
  const { name: provider, secrets } = target.upstream;
  const { surface } = door;
  const ofHead = providerHeaders(answer.head, target.upstream, target.isPassed);
  const announced = { consumer, allowance, surface, told: ofHead, dropped: [] };
  const headers = announce(announced, exchange.id, Math.floor(nowMs()));
  if (door.relaysHeaders) {
    const passable = passableHeaders(reply.headers, secrets, answer.stream);
    headers.push(...(answer.status >= 300 ? withOwnLocation(passable, target) : passable));
  }
  const hasBody = method !== 'HEAD' && answer.status !== 204 && answer.status !== 304;
  const tapped: Tapped = hasBody ? aim.tap(answer, target) : { taps: [], usage: undefined };
  const { taps, usage, answer: told = answer } = tapped;
  return { delivery: { answer: told, provider, taps, headers, holder: principal }, usage };
}

type Redirecting = Pick<OpaqueTarget, 'path'> & {
  readonly upstream: Pick<OpaqueTarget['upstream'], 'name' | 'origin'> & {
    readonly opaque: Pick<OpaqueTarget['upstream']['opaque'], 'basePath'>;
  };
};

/** Headers, names and values in turn: a `location` at the provider is one of the gateway, any other is left out. */
function withOwnLocation(headers: readonly string[], target: Redirecting): string[] {
  const own: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    const isLocation = name.toLowerCase() === 'location';
    const shown = isLocation ? ownLocation(value, target) : value;
    if (shown !== undefined) own.push(name, shown);
  }
  return own;
}

/** Undefined: it is none at the provider, below its base path. */
function ownLocation(value: string, { path, upstream }: Redirecting): string | undefined {
  const { name, origin, opaque } = upstream;
  const url = URL.parse(value, `${origin}${path}`);
  const below = `${opaque.basePath}/`;
  if (url?.origin !== origin || url.username !== '' || !url.pathname.startsWith(below)) return undefined;
  const endpoint = url.pathname.slice(below.length);
  // A version at the beginning is taken off there.
  return `/p/${name}/${endpoint.startsWith('v1/') ? 'v1/' : ''}${endpoint}${url.search}`;
}
