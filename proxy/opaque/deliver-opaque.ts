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
import type { Aim, OpaqueDoor, Tapped } from './door.ts';
import { withOwnLocation } from './doors/own-location.ts';

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
  const ofHead = providerHeaders(answer.head, secrets, target.isPassed);
  const announced = { consumer, allowance, surface, told: ofHead, dropped: [] };
  const headers = announce(announced, exchange.id, Math.floor(nowMs()));
  if (door.relaysHeaders) {
    const passable = passableHeaders(reply.headers, secrets, answer.stream);
    headers.push(...(answer.status >= 300 ? withOwnLocation(passable, target) : passable));
  }
  const hasBody = method !== 'HEAD' && answer.status !== 204 && answer.status !== 304;
  const tapped: Tapped = hasBody ? aim.tap(answer, target) : { taps: [], usage: undefined };
  const { taps, usage, answer: told = answer } = tapped;
  return { delivery: { answer: told, provider, taps, headers, keyId: principal?.keyId }, usage };
}
