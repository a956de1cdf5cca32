// One end of a WebSocket connection, client's or provider's: as much of it as a session needs.
import type { Readable } from 'node:stream';

/** In the words of the package that speaks the protocol. */
export interface WebSocketEnd {
  /** 1: open. */
  readonly readyState: number;
  /** It is not read. */
  readonly isPaused: boolean;
  /** Bytes that wait to be taken by the other side. */
  readonly bufferedAmount: number;
  send(data: Buffer, options: { readonly binary: boolean }, sent: (error?: Error | null) => void): void;
  ping(data: string): void;
  pause(): void;
  resume(): void;
  close(code?: number, reason?: string): void;
  terminate(): void;
  on(event: 'message', listener: (data: Buffer, isBinary: boolean) => void): unknown;
  on(event: 'close', listener: (code: number, reason: Buffer) => void): unknown;
  on(event: 'error', listener: (error: Error & { readonly code?: string }) => void): unknown;
  on(event: 'pong', listener: (data: Buffer) => void): unknown;
}

/** An end with the connection that it reads. */
export interface WebSocketConnection {
  readonly end: WebSocketEnd;
  readonly socket: Readable;
}

/** The limits of both ends. */
export interface WebSocketLimits {
  /** Of one message. Bytes. */
  readonly maxPayload: number;
  /** How long an end may take to close before its connection is cut. Milliseconds. */
  readonly closeTimeout: number;
  /** Nothing is compressed: a small frame could stand for gigabytes. */
  readonly perMessageDeflate: false;
  /** Each frame has a turn of the event loop: one read can hold thousands of them. */
  readonly allowSynchronousEvents: false;
}

/** How long an end may take to close. Milliseconds. */
const closeMs = 5_000;

export function limitsOf(frameLimitBytes: number): WebSocketLimits {
  return {
    maxPayload: frameLimitBytes,
    closeTimeout: closeMs,
    perMessageDeflate: false,
    allowSynchronousEvents: false,
  };
}
