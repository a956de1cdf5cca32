// Sends one request to a provider as it is: any method, and a body that may still be coming.
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { CallFacts, StreamedBody } from './call-deadline.ts';
import type { ClientPool } from './client-pool.ts';
import type { Deadlines } from './deadlines.ts';
import type { Patience } from './patience.ts';
import { UpstreamAnswer } from './upstream-answer.ts';

export const opaqueMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;
export type OpaqueMethod = (typeof opaqueMethods)[number];

/** A body that is read as the provider takes it. */
export interface OutgoingStream {
  readonly stream: Readable;
  /** In bytes; undefined: it is sent in chunks. */
  readonly length: number | undefined;
  /** Who it waits for. */
  readonly source: StreamedBody;
}

export type OpaqueBody = Buffer | OutgoingStream;

export interface OpaqueOutgoing {
  readonly method: OpaqueMethod;
  readonly path: string;
  /** Names and values in turn, without those of the framing. */
  readonly headers: readonly string[];
  /** Empty: there is none. */
  readonly body: OpaqueBody;
  /** Not on a connection that was kept from a call before. */
  readonly isFresh: boolean;
}

/** An answer of which nothing is understood, with all its headers. */
export interface OpaqueAnswer {
  readonly answer: UpstreamAnswer;
  /** Names and values in turn; empty before they have come. */
  readonly headers: readonly Buffer[];
}

/** Errors and JSON up to this many bytes are held until they are complete; all else is handed over with its first bytes. */
const heldBytes = 64 * 1024;
const json = /^application\/(?:[\w.+-]+\+)?json\b/i;

const type = 'content-type';

/** The facts of a call whose body the gateway does not read. */
class OpaqueFacts implements CallFacts {
  readonly latestMs = Number.POSITIVE_INFINITY;
  readonly needsEvent = false;
  readonly isStream = false;
  readonly isFresh: boolean;
  readonly streamed: StreamedBody | undefined;
  mostHeldBytes = heldBytes;
  headers: readonly Buffer[] = [];

  constructor({ body, isFresh }: OpaqueOutgoing) {
    this.isFresh = isFresh;
    this.streamed = Buffer.isBuffer(body) ? undefined : body.source;
  }

  takeHead(status: number, headers: readonly Buffer[]): void {
    this.headers = headers;
    const at = headers.findIndex((name, index) => index % 2 === 0 && name.toString('latin1').toLowerCase() === type);
    if (status < 400 && !json.test(headers[at + 1]?.toString('latin1') ?? '')) this.mostHeldBytes = 0;
  }
}

/**
 * Sends a request as it is. A body that is streamed goes out on a new connection: what was sent of it on a kept one that had been closed
 * could not be sent again.
 */
export function sendOpaque(
  pool: ClientPool,
  outgoing: OpaqueOutgoing,
  patience: Patience,
  deadlines: Deadlines,
): OpaqueAnswer {
  const { method, path, body, isFresh } = outgoing;
  const facts = new OpaqueFacts(outgoing);
  const answer = new UpstreamAnswer(patience, deadlines, facts);
  const headers = [...outgoing.headers];
  if (!Buffer.isBuffer(body) && body.length !== undefined) headers.push('content-length', String(body.length));
  const options: Dispatcher.DispatchOptions = {
    method,
    path,
    headers,
    body: Buffer.isBuffer(body) ? body : body.stream,
    blocking: false,
  };
  if (isFresh || !Buffer.isBuffer(body)) pool.dispatchFresh(options, answer);
  else pool.dispatch(options, answer);
  return {
    answer,
    get headers() {
      return facts.headers;
    },
  };
}
