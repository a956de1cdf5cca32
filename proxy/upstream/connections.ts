// The connections to one origin: free ones, and those to close because the name no longer resolves to their address.
import type { Client } from './undici.ts';

/**
 * The number of answers in a row that must lack an address before its connections close: a name with many addresses
 * gives some of them in turn.
 */
const mostAbsences = 4;

/** The address of a connection. */
interface Peer {
  readonly address: string;
  /** The number of answers in a row without this address. */
  absences: number;
}

export class Connections<C extends Client = Client> {
  /** Connected and without a call; the last of them was used last. */
  readonly #free: C[] = [];
  readonly #peers = new Map<C, Peer>();
  /** They have a call, and end with it. */
  readonly #retired = new Set<C>();

  /** How many have no call. */
  get length(): number {
    return this.#free.length;
  }

  /** How many there are. */
  get open(): number {
    return this.#peers.size;
  }

  /** The free one that was used last, for a call. */
  pop(): C | undefined {
    return this.#free.pop();
  }

  /** A call is over, and the connection is there for the next. */
  push(client: C): void {
    if (this.#retired.size > 0 && this.#retired.has(client)) void client.close();
    else this.#free.push(client);
  }

  /** A connection leads to this address; undefined: it has ended already. */
  connected(client: C, address: string | undefined): void {
    if (address !== undefined) this.#peers.set(client, { address, absences: 0 });
  }

  disconnected(client: C): void {
    this.#peers.delete(client);
    this.#retired.delete(client);
    const index = this.#free.indexOf(client);
    if (index !== -1) this.#free.splice(index, 1);
  }

  /** Closes those without a call. */
  closeFree(): void {
    for (const client of this.#free.splice(0)) void client.close();
  }

  /**
   * Takes the addresses that the name now resolves to. A connection to another one is closed after `mostAbsences` such
   * answers, or with the end of its call.
   */
  compare(addresses: ReadonlySet<string>): void {
    for (const [client, peer] of this.#peers) {
      peer.absences = addresses.has(peer.address) ? 0 : peer.absences + 1;
      if (peer.absences < mostAbsences || this.#retired.has(client)) continue;
      this.#retired.add(client);
      const index = this.#free.indexOf(client);
      if (index === -1) continue;
      this.#free.splice(index, 1);
      void client.close();
    }
  }
}
