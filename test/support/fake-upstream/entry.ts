// The ledger entry of a request at the fake upstream; tests compare it with the numbers of the gateway.

/** Raw name and value, in the order and spelling of the wire. */
export type Field = readonly [name: string, value: string];

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** One request, entered when its head is complete. Times are `performance.now()` milliseconds of the test process. */
export interface Entry {
  /** 0 for the first request this upstream saw. */
  readonly id: number;
  /** Index of its connection in `upstream.connections`; equal numbers mean a reused socket. */
  readonly connection: number;
  readonly method: string;
  /** The request target byte for byte, query included. */
  readonly target: string;
  /** The target without its query. */
  readonly path: string;
  readonly version: string;
  readonly headers: readonly Field[];
  readonly receivedAtMs: number;
  /** The body as it came, in pieces that reading `body` joins, transfer coding removed. */
  readonly bodyPieces: Buffer[];
  /** The bytes of the body so far. */
  readonly body: Buffer;
  bodyComplete: boolean;
  trailers: readonly Field[];
  /** Response bytes, head and framing included, that the kernel took; a peer that stops reading makes it stand still. */
  bytesSent: number;
  firstByteAtMs: number | undefined;
  /** The behaviour was played to its end (a deliberate cut or reset is an end, too). */
  finished: boolean;
  finishedAtMs: number | undefined;
  /** When the client left before `finished`, and how. */
  clientClosedAtMs: number | undefined;
  clientClose: 'fin' | 'rst' | undefined;
  /** The usage of the believable answer meant for this request, whether or not all of it could be sent. */
  usage: Usage | undefined;
  /** The first header of that name, letter case ignored. */
  header(name: string): string | undefined;
  /** The body parsed as JSON; undefined when it is none. */
  json(): unknown;
}

export interface RequestHead {
  method: string;
  target: string;
  version: string;
  headers: Field[];
}

/** A ledger line for a request whose head has just been read. */
export function createEntry(id: number, connection: number, head: RequestHead): Entry {
  const bodyPieces: Buffer[] = [];
  return {
    id,
    connection,
    ...head,
    path: head.target.split('?', 1)[0] ?? '',
    receivedAtMs: performance.now(),
    bodyPieces,
    get body() {
      if (bodyPieces.length > 1) bodyPieces.splice(0, bodyPieces.length, Buffer.concat(bodyPieces));
      return bodyPieces[0] ?? Buffer.alloc(0);
    },
    bodyComplete: false,
    trailers: [],
    bytesSent: 0,
    firstByteAtMs: undefined,
    finished: false,
    finishedAtMs: undefined,
    clientClosedAtMs: undefined,
    clientClose: undefined,
    usage: undefined,
    header: (name) => findField(head.headers, name),
    json() {
      try {
        return JSON.parse(this.body.toString());
      } catch {
        return undefined;
      }
    },
  };
}

/** The value of the first field of that name, letter case ignored. */
export function findField(fields: readonly Field[], name: string): string | undefined {
  return fields.find(([other]) => other.toLowerCase() === name.toLowerCase())?.[1];
}
