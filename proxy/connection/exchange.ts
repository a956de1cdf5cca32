// One request of a client and its answer, from socket to settle.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Head } from '../call/head.ts';
import type { Refusal } from '../errors.ts';

/** A step that waits for something of a request, and is told once when that will not come. */
export interface Waiting {
  /** The client has left. */
  gone(): void;
  /** The rest of the request is unreadable; not there: nothing of it is awaited. */
  broken?(refused: Refusal): void;
}

/** What every stage may know of the request at hand. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly head: Head;
  /** Echoed as x-request-id and sent upstream. */
  readonly id: string;
  readonly startedAtMs: number;
  /** Empty when the connection was gone before anybody asked. */
  readonly clientAddress: string;
  /** The client left before its answer was complete. */
  gone: boolean;
  /** Set by the step that waits. */
  waiting: Waiting | undefined;
}

/** Opens the exchange and gives it its id. */
export function openExchange(request: IncomingMessage, response: ServerResponse, head: Head, nowMs: number): Exchange {
  return new OpenExchange(request, response, head, nowMs);
}

class OpenExchange implements Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly head: Head;
  readonly id: string;
  readonly startedAtMs: number;
  gone = false;
  waiting: Waiting | undefined = undefined;

  constructor(request: IncomingMessage, response: ServerResponse, head: Head, nowMs: number) {
    this.request = request;
    this.response = response;
    this.head = head;
    this.id = requestId(head.requestId);
    this.startedAtMs = nowMs;
  }

  /** That of the socket. */
  get clientAddress(): string {
    const address = this.request.socket.remoteAddress ?? '';
    // A socket for IPv4 and IPv6 reports an IPv4 address as ::ffff:127.0.0.1.
    return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  }
}

/** The response was closed: when its answer is not complete, the client has left. */
export function closeExchange(exchange: Exchange): void {
  if (exchange.response.writableFinished) return;
  exchange.gone = true;
  exchange.waiting?.gone();
}

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;
const prefix = randomBytes(6).toString('hex');
let counter = 0;

/** The client's own id when it is harmless, else a new one: unique to this process, then counted. */
export function requestId(asked: string | undefined): string {
  if (asked !== undefined && acceptable.test(asked)) return asked;
  counter += 1;
  return `req_${prefix}${counter.toString(36).padStart(6, '0')}`;
}
