// A session: two open WebSockets, and what passes between them. Messages go on as they came; an end that does not take them makes the
// other one wait. What is in memory of them is bounded for each consumer. The session is over once both ends are closed.
import { randomBytes } from 'node:crypto';
import type { HeldBody } from '../http/body-budget.ts';
import type { WebSocketConnection, WebSocketEnd } from '../http/web-socket.ts';
import type { SessionSettings } from '../snapshot/snapshot.ts';
import {
  broken,
  type Closing,
  clientClosed,
  overloaded,
  providerClosed,
  type Side,
  silent,
  tooLong,
  unfinished,
} from './closing.ts';
import { Intake } from './intake.ts';

/** Beyond this an end makes the other one wait, until it has taken nearly all of it. Bytes. */
const highBytes = 256 * 1024;
const lowBytes = 64 * 1024;
/** A message that waits to be taken takes this besides its bytes. Bytes. */
const messageBytes = 256;
/** Less than this is not counted: every connection takes as much, whatever comes over it. Bytes. */
const freeBytes = 64 * 1024;
/** Most pings that may be unanswered. */
const mostUnanswered = 2;
const openState = 1;
const sides = ['client', 'provider'] as const;

/** Not read yet. */
export interface SessionEnds {
  readonly client: WebSocketConnection;
  readonly provider: WebSocketConnection;
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

/** One of the two. */
interface End {
  readonly webSocket: WebSocketEnd;
  readonly intake: Intake;
  /** Messages that it has not taken yet. */
  waiting: number;
  /** The payloads of pings that it has not answered, the oldest first. */
  pings: string[];
}

export class Session {
  readonly #ends: Readonly<Record<Side, End>>;
  readonly #held: HeldBody;
  readonly #listener: SessionListener;
  readonly #pings: NodeJS.Timeout;
  readonly #longest: NodeJS.Timeout;
  #stillOpen = 2;
  #closing: Closing | undefined;

  /** Begins at once. `held`: the account of what is in memory of messages, until the session is over. */
  constructor(ends: SessionEnds, settings: SessionSettings, held: HeldBody, listener: SessionListener) {
    this.#held = held;
    this.#listener = listener;
    const endOf = (side: Side): End => {
      const came = (): void => this.#weigh();
      const late = (): void => this.end(unfinished(side));
      const intake = new Intake(ends[side], settings.messageMs, { came, late });
      return { webSocket: ends[side].end, intake, waiting: 0, pings: [] };
    };
    this.#ends = { client: endOf('client'), provider: endOf('provider') };
    for (const side of sides) this.#attend(side);
    this.#pings = setInterval(() => this.#ping(), settings.pingIntervalMs);
    this.#longest = setTimeout(() => this.end(tooLong), settings.longestMs);
    for (const side of sides) this.#ends[side].intake.resume();
  }

  /** Closes both ends. Again does nothing. */
  end(closing: Closing): void {
    if (this.#closing !== undefined) return;
    this.#closing = closing;
    clearInterval(this.#pings);
    clearTimeout(this.#longest);
    const { client, provider } = this.#ends;
    // Neither has to wait any more: their close frames stand behind what was not read.
    client.intake.resume();
    provider.intake.resume();
    close(client.webSocket, closing.toClient);
    close(provider.webSocket, closing.toProvider);
    this.#dropLong();
  }

  #attend(side: Side): void {
    const from = this.#ends[side];
    const to = this.#ends[side === 'client' ? 'provider' : 'client'];
    const { webSocket } = from;
    webSocket.on('message', (data, isBinary) => {
      // One that takes nothing is no sign of life, however much it sends.
      if (webSocket.bufferedAmount === 0) from.pings.length = 0;
      if (this.#closing !== undefined || to.webSocket.readyState !== openState) return;
      const passed = side === 'provider' && !isBinary ? this.#listener.said(data) : data;
      this.#pass(passed, isBinary, from, to);
    });
    webSocket.on('pong', (data) => {
      // Only who reads knows what a ping said.
      from.pings.splice(0, from.pings.indexOf(data.toString('latin1')) + 1);
    });
    webSocket.on('error', ({ code = '' }) => {
      if (code.startsWith('WS_ERR_')) this.end(broken(side, code));
    });
    webSocket.on('close', (code, reason) => {
      const text = reason.toString();
      this.end(side === 'client' ? clientClosed(code, text) : providerClosed(code, this.#listener.closedWith(text)));
      this.#stillOpen -= 1;
      if (this.#stillOpen > 0) return;
      this.#held.release();
      if (this.#closing !== undefined) this.#listener.over(this.#closing);
    });
  }

  #pass(data: Buffer, isBinary: boolean, from: End, to: End): void {
    to.waiting += 1;
    to.webSocket.send(data, { binary: isBinary }, () => {
      to.waiting -= 1;
      if (this.#closing !== undefined) return;
      this.#weigh();
      if (from.webSocket.isPaused && waitingBytes(to) <= lowBytes) from.intake.resume();
    });
    this.#weigh();
    if (this.#closing === undefined && waitingBytes(to) > highBytes) from.intake.pause();
  }

  /** Counts what is in memory; what does not fit ends the session. */
  #weigh(): void {
    if (this.#closing !== undefined) {
      this.#dropLong();
      return;
    }
    const { client, provider } = this.#ends;
    const bytes = client.intake.heldBytes + provider.intake.heldBytes + waitingBytes(client) + waitingBytes(provider);
    try {
      this.#held.grow(bytes > freeBytes ? bytes : 0);
    } catch {
      this.end(overloaded);
    }
  }

  /** A session that is closing waits for close frames, never for the rest of a long message. */
  #dropLong(): void {
    for (const side of sides) {
      const { intake } = this.#ends[side];
      if (intake.heldBytes > freeBytes) intake.drop();
    }
  }

  #ping(): void {
    for (const side of sides) {
      const { webSocket, pings } = this.#ends[side];
      if (webSocket.readyState !== openState) continue;
      const said = randomBytes(8).toString('hex');
      // Of one that has to wait nothing is read, answers included; but only what is written to it tells that it is gone.
      if (webSocket.isPaused) {
        webSocket.ping(said);
        continue;
      }
      if (pings.length >= mostUnanswered) {
        this.end(silent(side));
        webSocket.terminate();
        return;
      }
      pings.push(said);
      webSocket.ping(said);
    }
  }
}

/** Bytes that one end has not taken yet. */
function waitingBytes({ webSocket, waiting }: End): number {
  return webSocket.bufferedAmount + waiting * messageBytes;
}

function close(end: WebSocketEnd, { code, reason }: Closing['toClient']): void {
  if (code === undefined) end.close();
  else end.close(code, reason);
}
