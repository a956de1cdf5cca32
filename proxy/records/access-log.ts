// The access log: a line per request, on standard output in batches. Of refusals that come fast, and of what cannot be read, some have a line.
import type { Identity } from '../../plane/identity.ts';
import type { LineWriter } from '../../plane/line-writer.ts';
import type { LoggedCaller } from '../http/exchange.ts';
import type { AccessLogScope } from '../snapshot/snapshot.ts';
import { AccessLines, type Finish, type OtherRequest, type UnreadRequest, withFurther } from './access-line.ts';
import { LineSampler } from './line-sampler.ts';
import type { LoggedTrip } from './logged-trip.ts';

export interface AccessLog {
  /** A model request is over. */
  trip(trip: LoggedTrip & Scoped, finish: Omit<Finish, 'wallMs'>): void;
  /** Any other request is over, at `nowMs` of the gateway's clock. */
  other(request: Omit<OtherRequest, 'revision'>, scope: Scoped['snapshot'], nowMs: number): void;
  /** A request could not be read. */
  unread(request: Omit<UnreadRequest, 'revision'>, scope: Scoped['snapshot']): void;
  /** How many requests had no line, because others of their kind had theirs in that second. */
  readonly omitted: number;
}

interface Scoped {
  readonly snapshot: { readonly accessLog: AccessLogScope; readonly revision: string };
}

function isLogged(scope: AccessLogScope, status: number): boolean {
  return scope === 'all' || (scope === 'failures' && status >= 400);
}

/** Refused before a provider was asked. Who wants a line for each request gets one for each of these, too. */
function isRefusal({ snapshot, failed, accepted }: LoggedTrip & Scoped, status: number): boolean {
  return snapshot.accessLog !== 'all' && status >= 400 && failed.length === 0 && accepted === undefined;
}

/** The consumer, as far as it is known. */
function senderOf(address: string, caller: LoggedCaller | undefined): string {
  return caller === undefined ? address : `${caller.keyId ?? address} ${caller.userPath ?? ''}`;
}

/** `wallMs`: Unix milliseconds. */
export function createAccessLog(
  identity: Identity,
  output: Pick<LineWriter, 'writeSoon'>,
  wallMs: () => number,
): AccessLog {
  const lines = new AccessLines(identity);
  const sampled = {
    write: (line: string): void => output.writeSoon(line),
    writeLast: (line: string, further: number): void => output.writeSoon(withFurther(line, further)),
  };
  const [refusals, unread] = [new LineSampler(sampled), new LineSampler(sampled)];
  return {
    trip(trip, finish) {
      const { status, usage, nowMs } = finish;
      if (!isLogged(trip.snapshot.accessLog, status)) return;
      const line = (): string => lines.ofTrip(trip, { status, usage, nowMs, wallMs: wallMs() });
      const { exchange, principal } = trip;
      if (isRefusal(trip, status)) refusals.note(senderOf(exchange.clientAddress, principal ?? exchange.caller), line);
      else output.writeSoon(line());
    },
    other(request, { accessLog, revision }, nowMs) {
      const { exchange, status } = request;
      if (!isLogged(accessLog, status)) return;
      const line = (): string => lines.ofOther({ ...request, revision }, nowMs, wallMs());
      if (accessLog !== 'all' && status >= 400) refusals.note(senderOf(exchange.clientAddress, exchange.caller), line);
      else output.writeSoon(line());
    },
    unread(request, { accessLog, revision }) {
      if (!isLogged(accessLog, request.refused.status)) return;
      unread.note(request.clientAddress, () => lines.ofUnread({ ...request, revision }, wallMs()));
    },
    get omitted() {
      return refusals.omitted + unread.omitted;
    },
  };
}
