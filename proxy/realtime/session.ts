// A session: two open WebSockets, and what passes between them. Messages go on as they came; an end that does not take them makes the
// other one wait. The session is over once both ends are closed.
import type { SessionSettings } from '../snapshot/snapshot.ts';
import type { WebSocketEnd } from '../web-socket.ts';
import { broken, type Closing, clientClosed, providerClosed, type Side, silent, tooLong } from './closing.ts';

/** Beyond this an end makes the other one wait, until it has taken nearly all of it. Bytes. */
const highBytes = 256 * 1024;
const lowBytes = 64 * 1024;
/** So many pings may be unanswered. */
const mostUnanswered = 2;
const openState = 1;

/** Not read yet. */
export interface SessionEnds {
  readonly client: WebSocketEnd;
  readonly provider: WebSocketEnd;
}

/** Who wants to know what happens. */
export interface SessionListener {
  /** A text of the provider; gives what the client is told. */
  said(text: Buffer): Buffer;
  /** It closed with this reason; gives what the client may be told of it. */
  closedWith(reason: string): string;
  /** Both ends are closed. Called once. */
  over(closing: Closing): void;
}

export class Session {
  readonly #ends: SessionEnds;
  readonly #listener: SessionListener;
  readonly #unanswered: Record<Side, number> = { client: 0, provider: 0 };
  readonly #pings: NodeJS.Timeout;
  readonly #longest: NodeJS.Timeout;
  #stillOpen = 2;
  #closing: Closing | undefined;

  /** Begins at once. */
  constructor(ends: SessionEnds, settings: SessionSettings, listener: SessionListener) {
    this.#ends = ends;
    this.#listener = listener;
    this.#attend('client');
    this.#attend('provider');
    this.#pings = setInterval(() => this.#ping(), settings.pingIntervalMs);
    this.#longest = setTimeout(() => this.end(tooLong), settings.longestMs);
    ends.client.resume();
    ends.provider.resume();
  }

  /** Closes both ends. Again does nothing. */
  end(closing: Closing): void {
    if (this.#closing !== undefined) return;
    this.#closing = closing;
    clearInterval(this.#pings);
    clearTimeout(this.#longest);
    const { client, provider } = this.#ends;
    // Neither has to wait any more: their close frames stand behind what was not read.
    client.resume();
    provider.resume();
    close(client, closing.toClient);
    close(provider, closing.toProvider);
  }

  #attend(side: Side): void {
    const { client, provider } = this.#ends;
    const [from, to] = side === 'client' ? [client, provider] : [provider, client];
    from.on('message', (data, isBinary) => {
      // One that takes nothing is no sign of life, however much it sends.
      if (from.bufferedAmount === 0) this.#unanswered[side] = 0;
      if (this.#closing !== undefined || to.readyState !== openState) return;
      const passed = side === 'provider' && !isBinary ? this.#listener.said(data) : data;
      to.send(passed, { binary: isBinary }, () => {
        if (from.isPaused && to.bufferedAmount <= lowBytes) from.resume();
      });
      if (to.bufferedAmount > highBytes) from.pause();
    });
    from.on('pong', () => {
      this.#unanswered[side] = 0;
    });
    from.on('error', ({ code = '' }) => {
      if (code.startsWith('WS_ERR_')) this.end(broken(side, code));
    });
    from.on('close', (code, reason) => {
      const text = reason.toString();
      this.end(side === 'client' ? clientClosed(code, text) : providerClosed(code, this.#listener.closedWith(text)));
      this.#stillOpen -= 1;
      if (this.#stillOpen === 0 && this.#closing !== undefined) this.#listener.over(this.#closing);
    });
  }

  #ping(): void {
    for (const side of ['client', 'provider'] as const) {
      const end = this.#ends[side];
      if (end.readyState !== openState) continue;
      // Of one that has to wait nothing is read, answers included; but only what is written to it tells that it is gone.
      if (end.isPaused) {
        end.ping();
        continue;
      }
      if (this.#unanswered[side] >= mostUnanswered) {
        this.end(silent(side));
        end.terminate();
        return;
      }
      this.#unanswered[side] += 1;
      end.ping();
    }
  }
}

function close(end: WebSocketEnd, { code, reason }: Closing['toClient']): void {
  if (code === undefined) end.close();
  else end.close(code, reason);
}
