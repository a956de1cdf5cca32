// A client of realtime sessions: opens one, or gets the refusal of it.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { type Gateway, masterKey } from './gateway.ts';

export interface ClientSession {
  readonly socket: WebSocket;
  /** What is below its frames. */
  readonly connection: Socket | undefined;
  /** Of the 101. */
  readonly headers: IncomingHttpHeaders;
  /** Texts that have come. */
  readonly said: string[];
  /** Sends an event. */
  readonly say: (event: object) => void;
  /** How it was closed. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

export interface SessionRefusal {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly error: { readonly code: string | null; readonly type: string; readonly message: string };
}

export interface SessionOptions {
  /** Default: the model `gpt-realtime`. */
  readonly query?: string;
  /** Besides the master key as bearer; one of undefined is left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly protocols?: readonly string[];
  readonly autoPong?: boolean;
}

/** Settles with a session, or with why there is none. */
export function trySession(
  gateway: Pick<Gateway, 'url'>,
  { query = '?model=gpt-realtime', headers = {}, protocols = [], autoPong = true }: SessionOptions = {},
): Promise<{ session?: ClientSession; refusal?: SessionRefusal }> {
  const all = { authorization: `Bearer ${masterKey}`, ...headers };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const address = `${gateway.url.replace('http', 'ws')}/v1/realtime${query}`;
  const options = { headers: Object.fromEntries(given), autoPong, perMessageDeflate: true };
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address, protocols, options);
    const said: string[] = [];
    const closed = new Promise<{ code: number; reason: string }>((done) => {
      socket.on('close', (code, reason) => done({ code, reason: reason.toString() }));
    });
    let answered: IncomingMessage | undefined;
    socket.on('upgrade', (answer) => {
      answered = answer;
    });
    socket.on('message', (data, isBinary) => said.push(isBinary ? `binary ${data.length}` : data.toString()));
    socket.on('open', () => {
      const say = (event: object): void => socket.send(JSON.stringify(event));
      resolve({
        session: { socket, connection: answered?.socket, headers: answered?.headers ?? {}, said, say, closed },
      });
    });
    socket.on('unexpected-response', (_request, answer) => {
      let text = '';
      answer.on('data', (piece: Buffer) => {
        text += piece.toString();
      });
      answer.on('end', () => {
        const { error } = JSON.parse(text) as Pick<SessionRefusal, 'error'>;
        resolve({ refusal: { status: answer.statusCode ?? 0, headers: answer.headers, error } });
      });
    });
    socket.on('error', reject);
  });
}

export async function openSession(gateway: Pick<Gateway, 'url'>, options?: SessionOptions): Promise<ClientSession> {
  const { session, refusal } = await trySession(gateway, options);
  if (session === undefined) throw new Error(`refused: ${JSON.stringify(refusal)}`);
  return session;
}

export async function refusedSession(gateway: Pick<Gateway, 'url'>, options?: SessionOptions): Promise<SessionRefusal> {
  const { session, refusal } = await trySession(gateway, options);
  if (refusal !== undefined) return refusal;
  session?.socket.terminate();
  throw new Error('a session was opened');
}
