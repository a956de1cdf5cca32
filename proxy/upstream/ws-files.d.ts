// The types of ws, as far as it is used.
declare module 'ws' {
  import type { EventEmitter } from 'node:events';
  import type { ClientRequest, IncomingMessage } from 'node:http';
  import type { Socket } from 'node:net';

  interface Options {
    readonly maxPayload?: number;
    readonly closeTimeout?: number;
    readonly perMessageDeflate?: boolean;
    /** Default: true. */
    readonly autoPong?: boolean;
  }

  interface ClientOptions extends Options {
    readonly headers?: Readonly<Record<string, string>>;
    readonly createConnection?: (
      options: object,
      done: (error: Error | null, socket?: Socket) => void,
    ) => Socket | undefined;
  }

  interface ServerOptions extends Options {
    readonly noServer: true;
    readonly clientTracking?: boolean;
    readonly handleProtocols?: (offered: ReadonlySet<string>) => string | false;
  }

  export class WebSocket {
    constructor(address: string, protocols: readonly string[], options?: ClientOptions);
    readonly protocol: string;
    readonly extensions: string;
    readonly readyState: number;
    readonly isPaused: boolean;
    readonly bufferedAmount: number;
    send(data: Buffer | string): void;
    send(data: Buffer, options: { readonly binary: boolean }, sent: (error?: Error | null) => void): void;
    ping(data?: string): void;
    pause(): void;
    resume(): void;
    close(code?: number, reason?: string): void;
    terminate(): void;
    on(event: 'open', listener: () => void): this;
    on(event: 'ping' | 'pong', listener: (data: Buffer) => void): this;
    on(event: 'upgrade', listener: (answer: IncomingMessage) => void): this;
    on(event: 'unexpected-response', listener: (request: ClientRequest, answer: IncomingMessage) => void): this;
    on(event: 'message', listener: (data: Buffer, isBinary: boolean) => void): this;
    on(event: 'close', listener: (code: number, reason: Buffer) => void): this;
    on(event: 'error', listener: (error: Error & { readonly code?: string }) => void): this;
  }

  export class WebSocketServer extends EventEmitter {
    constructor(options: ServerOptions);
    handleUpgrade(request: IncomingMessage, socket: Socket, head: Buffer, done: (webSocket: WebSocket) => void): void;
  }
}
