// Stage 7 of calls that the gateway makes itself: the targets are asked, at the cost of the caller that the trip names.
import type { Call } from '../../call/call.ts';
import type { ModelRow } from '../../endpoints/model-endpoints.ts';
import type { ModelRequest } from '../../http/exchange.ts';
import type { Route } from '../../snapshot/snapshot.ts';
import { attempt } from '../../stages/attempt.ts';
import type { Accepted, FailedAttempt } from '../../stages/attempts.ts';
import { candidates } from '../../stages/candidates.ts';
import { deliver } from '../../stages/deliver.ts';
import { expectedOf } from '../../stages/expect.ts';
import type { Delivery } from '../../stages/relay.ts';
import { setAsideMoney } from '../../stages/set-aside-money.ts';
import type { Trip } from '../trip.ts';
import type { AuxiliaryParts } from './question.ts';

type Asking = Trip<ModelRequest, Accepted, FailedAttempt> & { readonly row: ModelRow };

/** Rejects with the last word of the targets, and with what stands against the call before one is asked. */
export async function askTargets(
  trip: Asking,
  asked: { readonly call: Call; readonly named: Route },
  parts: AuxiliaryParts,
): Promise<Delivery> {
  const { admitted: consumer, caller, capture, exchange, failed, row, snapshot } = trip;
  const found = await candidates({ ...asked, home: undefined }, row, snapshot.storedResponses);
  const { call, route, translated } = found;
  trip.route = route;
  trip.isAsked = true;
  const priced = { operation: row.operation, body: call, consumer: caller.userPath };
  trip.expected = expectedOf(priced, parts.limiter);
  await setAsideMoney(trip, { targets: route.targets, asked: priced }, parts);
  const routed = { ...row, call, route, consumer, translated, expected: trip.expected };
  return attempt(routed, { exchange, failed }, parts, (accepted) => {
    trip.accepted = accepted;
    const { delivery, usage } = deliver(accepted, trip, parts);
    trip.usage = usage;
    if (capture === undefined) return delivery;
    return { ...delivery, taps: [...delivery.taps, capture.tapOf(delivery.answer, row.operation)] };
  });
}
