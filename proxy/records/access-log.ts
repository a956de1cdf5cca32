// The access log: a line per request, on standard output in batches.
import type { Identity } from '../../plane/identity.ts';
import type { LineWriter } from '../../plane/line-writer.ts';
import { UnreadRequests } from '../http/unread-requests.ts';
import type { AccessLogScope } from '../snapshot/snapshot.ts';
import { AccessLines, type Finish, type OtherRequest, type UnreadRequest } from './access-line.ts';
import type { LoggedTrip } from './logged-trip.ts';

export interface AccessLog {
  /** A model request is over. */
  trip(trip: LoggedTrip & Scoped, finish: Omit<Finish, 'wallMs'>): void;
  /** Any other request is over, at `nowMs` of the gateway's clock. */
  other(request: Omit<OtherRequest, 'revision'>, scope: Scoped['snapshot'], nowMs: number): void;
  /** A request could not be read. */
  unread(request: Omit<UnreadRequest, 'revision'>, scope: Scoped['snapshot']): void;
}

interface Scoped {
  readonly snapshot: { readonly accessLog: AccessLogScope; readonly revision: string };
}

function isLogged(scope: AccessLogScope, status: number): boolean {
  return scope === 'all' || (scope === 'failures' && status >= 400);
}

/** `wallMs`: Unix milliseconds. */
export function createAccessLog(
  identity: Identity,
  output: Pick<LineWriter, 'writeSoon'>,
  wallMs: () => number,
): AccessLog {
  const lines = new AccessLines(identity);
  const unread = new UnreadRequests<UnreadRequest>((request, further) =>
    output.writeSoon(lines.ofUnread(request, further, wallMs())),
  );
  return {
    trip(trip, finish) {
      const { status, nowMs } = finish;
      if (isLogged(trip.snapshot.accessLog, status))
        output.writeSoon(lines.ofTrip(trip, { status, usage: finish.usage, nowMs, wallMs: wallMs() }));
    },
    other(request, { accessLog, revision }, nowMs) {
      if (isLogged(accessLog, request.status))
        output.writeSoon(lines.ofOther({ ...request, revision }, nowMs, wallMs()));
    },
    unread(request, { accessLog, revision }) {
      if (isLogged(accessLog, request.refused.status)) unread.note({ ...request, revision });
    },
  };
}
