// Trips of copies: what each stage of the line does for a request that is sent to the mirror of its alias. No client waits for it; it has a user
// path and a record of its own.
import { mirrorPath } from '../../../domain/records/mirror-record.ts';
import type { Tap } from '../../answer.ts';
import type { Call } from '../../call/call.ts';
import { addForwarded } from '../../call/forwarded-headers.ts';
import type { ModelRow } from '../../endpoints/model-endpoints.ts';
import type { HeldBody } from '../../http/body-budget.ts';
import type { Exchange, ModelRequest } from '../../http/exchange.ts';
import type { RecordedEnd } from '../../records/record-of-trip.ts';
import type { Route, Snapshot } from '../../snapshot/snapshot.ts';
import type { Principal } from '../../stages/authenticate.ts';
import { payable } from '../../stages/candidates.ts';
import type { Delivery, Ending } from '../../stages/relay.ts';
import type { TripKind } from '../kind.ts';
import { askTargets } from '../question/ask-targets.ts';
import { OwnTrip, ownTrips } from '../question/own-trip.ts';
import { type AuxiliaryParts, requestFor } from '../question/question.ts';
import { drainAnswer } from './drain-answer.ts';

/** A copy is given up when it has taken so long. Milliseconds. */
const longestMs = 5 * 60_000;

/** A request whose client has been answered, as its copy needs it. */
export interface CopiedRequest {
  /** In the name of the gateway, under the id of the client's. */
  readonly request: ModelRequest;
  readonly snapshot: Snapshot;
  readonly caller: Principal;
  readonly row: ModelRow;
  /** As guardrails have let it through. */
  readonly call: Call;
  /** Leads to the mirror alone. */
  readonly route: Route;
  /** The memory that its body takes from now on. */
  readonly held: HeldBody;
  /** Sees the answer of the mirror; undefined: its text is not compared. */
  readonly reader: ((delivery: Delivery) => Tap) | undefined;
  /** Its bodies may be recorded where those of its caller are. */
  readonly isRecorded: boolean;
}

export class MirrorTrip extends OwnTrip {
  readonly sessionId = null;
  readonly copied: CopiedRequest;
  readonly row: ModelRow;
  readonly call: Call;
  end: RecordedEnd | undefined;

  constructor(copied: CopiedRequest) {
    super(copied.request, copied.snapshot);
    this.copied = copied;
    this.row = copied.row;
    this.call = copied.call;
    this.held = copied.held;
    this.principal = mirrorCaller(copied.caller, mirrorPath);
  }
}

/** Who asks in the name of a mirror: no key, and no path of a consumer. */
export function mirrorCaller({ kind }: Pick<Principal, 'kind'>, userPath: string): Principal {
  return { kind, keyId: undefined, userPath, shownPath: userPath, allowedModels: undefined };
}

/** The request of a copy. Of the client's headers, a provider is told those that name a version of its dialect. */
export function requestOf(
  {
    exchange,
    snapshot,
    caller,
    call,
    row,
    route,
  }: Omit<CopiedRequest, 'request' | 'held' | 'reader' | 'isRecorded'> & {
    readonly exchange: Exchange;
  },
  parts: AuxiliaryParts,
): ModelRequest {
  const made = requestFor({ exchange, principal: caller, snapshot, call }, parts);
  const rawHeaders = [...made.request.rawHeaders];
  const versions = route.targets[0]?.speeches[row.operation]?.versions ?? [];
  addForwarded(rawHeaders, exchange.request.rawHeaders, versions);
  return { ...made, request: { rawHeaders }, caller: undefined };
}

/** The spec of copies. Its functions throw, or reject with, a Refusal. */
export function mirrorKind(parts: AuxiliaryParts): TripKind<MirrorTrip, Delivery> {
  return {
    ...ownTrips,
    identify(trip) {
      const { call, copied, snapshot } = trip;
      if (!copied.isRecorded) return;
      trip.capture = parts.records.capture(snapshot, copied.caller.userPath);
      trip.capture?.takeRequest(call.body);
      trip.capture?.takeGuarded(call.body);
    },
    receive: (trip) => trip.endAfter(longestMs, trip.call.model),
    attempt(trip) {
      const { call, copied } = trip;
      const payer = { principal: trip.principal, snapshot: trip.snapshot, isFree: false };
      return askTargets(trip, payable({ call, named: copied.route }, payer), parts);
    },
    relay: (trip, delivery) => readAnswer(trip, delivery),
    close(trip, end) {
      trip.over();
      trip.end = end;
    },
  };
}

async function readAnswer(trip: MirrorTrip, delivery: Delivery): Promise<Ending> {
  const { reader } = trip.copied;
  const watched = reader === undefined ? delivery : { ...delivery, taps: [...delivery.taps, reader(delivery)] };
  const broken = await drainAnswer(watched, trip.exchange);
  const refused = trip.left ?? broken;
  if (refused !== undefined) throw refused;
  return { status: delivery.answer.status, headers: [], refused: undefined };
}
