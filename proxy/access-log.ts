// The access log: a line per model request, and per request of another kind that fails to authenticate, on standard output in batches.
import type { Identity } from '../plane/identity.ts';
import type { LineWriter } from '../plane/line-writer.ts';
import type { Config } from '../schemas/types.ts';
import { AccessLines, type Finish, type LoggedTrip, type RefusedRequest } from './access-line.ts';
import type { ErrorCode } from './errors.ts';

/** Which requests have a line. `failures`: those with a status from 400 on, clients that left (499), and answers that broke off. */
export type AccessLogScope = Config['server']['access_log'];

export interface AccessLog {
  /** A model request is over. */
  trip(trip: LoggedTrip & Scoped, finish: Omit<Finish, 'wallMs'>): void;
  /** Any other request was refused, at `nowMs` of the gateway's clock; it has a line when its caller was not let in. */
  refused(request: Omit<RefusedRequest, 'revision'>, scope: Scoped['snapshot'], nowMs: number): void;
}

interface Scoped {
  readonly snapshot: { readonly accessLog: AccessLogScope; readonly revision: string };
}

/** The caller was not let in. */
const authFailures: ReadonlySet<string | null> = new Set<ErrorCode>([
  'invalid_api_key',
  'ambiguous_credentials',
  'too_many_failed_logins',
  'user_path_denied',
  'foreign_host',
  'foreign_origin',
]);

/** `wallMs`: Unix milliseconds. */
export function createAccessLog(
  identity: Identity,
  output: Pick<LineWriter, 'writeSoon'>,
  wallMs: () => number,
): AccessLog {
  const lines = new AccessLines(identity);
  return {
    trip(trip, { status, usage, nowMs }) {
      const { accessLog } = trip.snapshot;
      if (accessLog === 'off' || (accessLog === 'failures' && status < 400)) return;
      output.writeSoon(lines.ofTrip(trip, { status, usage, nowMs, wallMs: wallMs() }));
    },
    refused({ exchange, method, path, refused }, { accessLog, revision }, nowMs) {
      if (accessLog === 'off' || !authFailures.has(refused.code)) return;
      output.writeSoon(lines.ofRefused({ exchange, method, path, revision, refused }, nowMs, wallMs()));
    },
  };
}
