// One request of a client and its answer, from socket to settle.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { plainAddress } from '../../domain/keys/client-address.ts';
import type { FailedLogin } from '../../domain/keys/credentials.ts';
import { isRequestId } from '../../domain/request-id.ts';
import { clientAddressOf, type TrustedProxies } from '../../plane/access/client-address.ts';
import { type Head, type OwnHeaderNames, readHead } from '../call/head.ts';
import type { RequestTrace } from '../call/trace-context.ts';
import type { Refusal } from '../errors.ts';

/** A step that waits for something of a request, and is told once when that will not come. */
export interface Waiting {
  /** The client has left. */
  gone(): void;
  /** The rest of the request is unreadable; not there: nothing of it is awaited. */
  broken?(refused: Refusal): void;
  /** Whether the request may go on although its time is over; not there: it may not. */
  excuses?(): boolean;
  /** The process ends once all answers are over; not there: this one will be over by itself. */
  draining?(): void;
}

/** Who calls, as the access log says it: a caller who was let in, or a login that failed. */
export type LoggedCaller =
  | {
      readonly kind: string;
      readonly keyId: string | undefined;
      readonly userPath: string | undefined;
      /** `userPath` in the letter case in which it was sent; absent: equal to it. */
      readonly shownPath?: string | undefined;
      /** The key that a token stands for. */
      readonly tokenKey?: AuthKey | undefined;
      readonly reason?: never;
    }
  | (FailedLogin & { readonly kind?: never; readonly shownPath?: never });

/** The user path of a caller as people see it. */
export function shownPathOf(caller: LoggedCaller | undefined): string | undefined {
  return caller?.shownPath ?? caller?.userPath;
}

/** A refusal as it was written. */
export interface ToldRefusal {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string;
}

/** A request to a model, from a client or from the gateway itself. */
export interface ModelRequest {
  /** The headers that came with it, names and values in turn. */
  readonly request: Pick<IncomingMessage, 'rawHeaders'>;
  /** Echoed as x-request-id and sent upstream. */
  readonly id: string;
  readonly startedAtMs: number;
  /** The client left before the answer was complete, or the gateway gave the question up. */
  gone: boolean;
  /** Set by the step that waits. */
  waiting: Waiting | undefined;
  /** Undefined while no key was checked. Of a model request that was let in, its trip knows the caller. */
  caller: LoggedCaller | undefined;
  /** The trace it belongs to; undefined: none, or not worked out, because no provider was asked. */
  trace: RequestTrace | undefined;
  /** Where the client is, as far as trusted proxies tell. Worked out when it is first asked for; empty when its connection is gone then. */
  readonly clientAddress: string;
}

/** The facts of a client's request that every stage may read. */
export interface Exchange extends ModelRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly head: Head;
  /** Fires when the client leaves before its answer was complete. Made when it is first asked for. */
  readonly left: AbortSignal;
  /** The refusal that replaced its answer, or ended it early. */
  refused: Refusal | undefined;
  /** The refusal as the client got it; undefined: it got none. */
  told: ToldRefusal | undefined;
  /** The client has left before its answer was complete. */
  leave(): void;
}

/** The settings of a snapshot that opening an exchange needs. */
export interface ExchangeSettings extends OwnHeaderNames {
  readonly trustedProxies: TrustedProxies | undefined;
}

/** Opens the exchange and gives it its id. */
export function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  settings: ExchangeSettings,
  nowMs: number,
): Exchange {
  return new OpenExchange(request, response, settings, nowMs);
}

class OpenExchange implements Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly head: Head;
  readonly id: string;
  readonly startedAtMs: number;
  gone = false;
  waiting: Waiting | undefined = undefined;
  refused: Refusal | undefined = undefined;
  told: ToldRefusal | undefined = undefined;
  caller: LoggedCaller | undefined = undefined;
  trace: RequestTrace | undefined = undefined;
  readonly #trustedProxies: TrustedProxies | undefined;
  #clientAddress: string | undefined = undefined;
  #left: AbortController | undefined = undefined;

  constructor(request: IncomingMessage, response: ServerResponse, settings: ExchangeSettings, nowMs: number) {
    this.request = request;
    this.response = response;
    this.head = readHead(request, settings);
    this.id = requestId(this.head.requestId);
    this.startedAtMs = nowMs;
    this.#trustedProxies = settings.trustedProxies;
  }

  get left(): AbortSignal {
    this.#left ??= new AbortController();
    if (this.gone) this.#left.abort();
    return this.#left.signal;
  }

  leave(): void {
    this.gone = true;
    this.#left?.abort();
    this.waiting?.gone();
  }

  get clientAddress(): string {
    const { socket, rawHeaders } = this.request;
    this.#clientAddress ??= plainAddress(clientAddressOf(socket.remoteAddress, rawHeaders, this.#trustedProxies) ?? '');
    return this.#clientAddress;
  }
}

/** The response was closed: when its answer is not complete, the client has left. */
export function closeExchange(exchange: Exchange): void {
  if (!exchange.response.writableFinished) exchange.leave();
}

const prefix = randomBytes(6).toString('hex');
let counter = 0;

/** The client's own id when it is harmless, else a new one: unique to this process, then counted. */
export function requestId(asked: string | undefined): string {
  if (asked !== undefined && isRequestId(asked)) return asked;
  counter += 1;
  return `req_${prefix}${counter.toString(36).padStart(6, '0')}`;
}
