// What conditions may ask of a request at a door.
import type { Said } from '../call/beginning.ts';
import { RequestFacts } from '../call/request-facts.ts';
import type { Knock } from './door.ts';

/** `endpoint`: its path. `said`: its JSON; undefined: it has none, or holds the calls of a batch. */
export function doorFacts(
  { exchange, principal, snapshot }: Knock,
  endpoint: string,
  { said, stream = false }: { readonly said?: Said | undefined; readonly stream?: boolean } = {},
): RequestFacts {
  return new RequestFacts({
    caller: principal,
    endpoint,
    stream,
    rawHeaders: exchange.request.rawHeaders,
    said,
    localTime: snapshot.localTime,
    startedAtMs: exchange.startedAtMs,
  });
}
