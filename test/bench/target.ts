// The connections of the load client to one target: they stay open between slices, so that a slice costs no opening.
import { type Connection, openConnection } from './connection.ts';
import { keySecret, pathOf, requestBody, type Workload } from './workload.ts';

// A server may close what was idle for some seconds; a connection younger than this is taken for open.
const FRESH_MS = 2000;
// A listening socket queues only so many connections at a time.
const OPENED_AT_ONCE = 100;

/** A server under load. */
export class Target {
  readonly #url: URL;
  readonly #token: string;
  readonly #headers: readonly string[];
  readonly #requests = new Map<string, readonly Buffer[]>();
  #connections: Connection[] = [];
  #usedMs = 0;
  #sent = 0;

  /** `headers`: further lines of each head. */
  constructor(url: string, token: string, headers: readonly string[] = []) {
    this.#url = new URL(url);
    this.#token = token;
    this.#headers = headers;
  }

  /** The bytes of a request, the same ones each time. */
  request(workload: Workload): Buffer {
    return this.requests(workload, undefined)[0] as Buffer;
  }

  /** A request of each of so many managed keys; `keys` undefined: of the master key. */
  requests(workload: Workload, keys: number | undefined): readonly Buffer[] {
    const name = `${workload} ${keys ?? ''}`;
    const made = this.#requests.get(name) ?? this.#tokens(keys).map((token) => this.#makeRequest(workload, token));
    this.#requests.set(name, made);
    return made;
  }

  #tokens(keys: number | undefined): string[] {
    return keys === undefined ? [this.#token] : Array.from({ length: keys }, (_, index) => keySecret(index));
  }

  /** The next of these requests, over all slices. */
  inTurn(requests: readonly Buffer[]): Buffer {
    this.#sent += 1;
    return requests[this.#sent % requests.length] as Buffer;
  }

  /** So many open connections, none of them busy; those that idled for long are opened anew. */
  async take(count: number): Promise<Connection[]> {
    const nowMs = performance.now();
    const isFresh = nowMs - this.#usedMs < FRESH_MS;
    const usable = isFresh ? this.#connections.filter(({ isOpen, owner }) => isOpen && owner === undefined) : [];
    for (const connection of this.#connections) if (!usable.includes(connection)) connection.close();
    this.#connections = usable;
    while (this.#connections.length < count) {
      const missing = Math.min(OPENED_AT_ONCE, count - this.#connections.length);
      await Promise.all(Array.from({ length: missing }, () => this.add()));
    }
    this.touch();
    return this.#connections.slice(0, count);
  }

  /** One connection more. */
  async add(): Promise<Connection> {
    const connection = await openConnection({ host: this.#url.hostname, port: Number(this.#url.port) });
    this.#connections.push(connection);
    return connection;
  }

  /** Says that the connections were in use until now. */
  touch(): void {
    this.#usedMs = performance.now();
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
    this.#connections = [];
  }

  #makeRequest(workload: Workload, token: string): Buffer {
    const body = requestBody(workload);
    const head = [
      `POST ${pathOf(workload)} HTTP/1.1`,
      `host: ${this.#url.host}`,
      'content-type: application/json',
      `authorization: Bearer ${token}`,
      `content-length: ${body.length}`,
      ...this.#headers,
    ];
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1');
  }
}
