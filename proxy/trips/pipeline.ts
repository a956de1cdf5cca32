// THE order of a request, at every door: what happens, one stage after the other, from its head to its settlement. What a stage does for a
// kind of requests is in the file of that kind; what differs between the kinds is in kind.ts.
import { Refusal, refusal } from '../errors.ts';
import type { Overload } from '../http/overload.ts';
import { type EnterParts, enter, refusalOf, whileItComes } from '../stages/enter.ts';
import type { Ending } from '../stages/relay.ts';
import { type SettleParts, settle } from '../stages/settle.ts';
import type { TripKind } from './kind.ts';
import type { Trip } from './trip.ts';

/** The parts of the stages that all kinds share. */
export type PipelineParts = EnterParts & SettleParts & { readonly overload: Pick<Overload, 'isOverloaded'> };

/**
 * Takes a request along the line, whatever happens. Never rejects. A stage is awaited only where it waits for something: the promises that this
 * spares were 10 % of the memory that a short call takes from the heap.
 */
export async function travel<Kind extends Trip, Answer>(
  trip: Kind,
  kind: TripKind<Kind, Answer>,
  parts: PipelineParts,
): Promise<void> {
  if (kind.isOfClient) parts.metrics.requests.begin();
  try {
    if (kind.isOfClient && parts.overload.isOverloaded())
      throw refusal('overloaded', { headers: { 'retry-after': '1' } });
    const checked = checkHead(trip, kind);
    if (checked instanceof Promise) await checked;
    const identified = kind.identify(trip);
    if (identified instanceof Promise) await whileItComes(trip.exchange, identified);
    const isLate = kind.entersLate(trip);
    const entering = isLate ? undefined : enter(trip, kind.admission(trip), parts);
    // Nothing else is awaited before the body is listened for: it may come, or break, with the head.
    const rejected = entering instanceof Promise ? await whileItComes(trip.exchange, entering) : entering;
    if (rejected !== undefined) throw refusalOf(rejected, await kind.foresee(trip), trip, parts);
    await kind.receive(trip);
    const resolved = kind.resolve(trip);
    if (resolved !== undefined) await resolved;
    const guarded = kind.guard(trip);
    if (guarded !== undefined) await guarded;
    const found = kind.lookUp(trip);
    const kept = found instanceof Promise ? await found : found;
    const enteringLate = kept === undefined && isLate ? enter(trip, kind.admission(trip), parts) : undefined;
    const late = enteringLate instanceof Promise ? await whileItComes(trip.exchange, enteringLate) : enteringLate;
    if (late !== undefined) throw refusalOf(late, await kind.foresee(trip), trip, parts);
    const relayed = kind.relay(trip, kept ?? (await kind.attempt(trip)));
    trip.ending = relayed instanceof Promise ? await relayed : relayed;
  } catch (error) {
    trip.ending = refuse(trip, kind, error, parts);
  }
  close(trip, kind, parts);
}

/** Refuses a request by its head first. The record names the caller, where it is known. */
function checkHead<Kind extends Trip, Answer>(trip: Kind, kind: TripKind<Kind, Answer>): void | Promise<void> {
  try {
    kind.checkHead(trip);
  } catch (refused) {
    return identifyRefused(trip, kind, refused);
  }
}

async function identifyRefused<Kind extends Trip, Answer>(
  trip: Kind,
  kind: TripKind<Kind, Answer>,
  refused: unknown,
): Promise<void> {
  try {
    const identified = kind.identify(trip);
    if (identified instanceof Promise) await whileItComes(trip.exchange, identified);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
  throw refused;
}

function refuse<Kind extends Trip, Answer>(
  trip: Kind,
  kind: TripKind<Kind, Answer>,
  error: unknown,
  { nowMs, reportFailure }: PipelineParts,
): Ending {
  // The lease is refunded where no target was asked; else the loop over targets decides.
  if (!trip.isAsked) trip.consumer?.lease.refund(Math.floor(nowMs()));
  if (!(error instanceof Refusal)) reportFailure(error, trip.exchange.id);
  return kind.refuse(trip, error);
}

function close<Kind extends Trip, Answer>(trip: Kind, kind: TripKind<Kind, Answer>, parts: PipelineParts): void {
  trip.held?.release();
  const guarded = <Value>(step: () => Value): Value | undefined => {
    try {
      return step();
    } catch (error) {
      parts.reportFailure(error, trip.exchange.id);
      return undefined;
    }
  };
  const end = guarded(() => settle(trip, kind, parts));
  guarded(() => kind.close(trip, end));
  trip.capture?.release();
}
