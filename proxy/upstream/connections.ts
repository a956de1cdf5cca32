// The connections to one origin: those that are free, and those that shall end, because the name no longer leads where they go.
import type { Client } from './undici.ts';

/** So many answers in a row must name other addresses: a name with many gives some of them in turn. */
const mostAbsences = 4;

/** Where a connection leads. */
interface Peer {
  readonly address: string;
  /** How many answers in a row did not name it. */
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

  /** The name leads to these addresses now. A connection elsewhere is closed after some such answers, or ends with its call. */
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
