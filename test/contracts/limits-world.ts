// Random proxies that speak to a store of shared limits: every message they send is one that a proxy could send, late and repeated ones included.
import {
  type AttachMessage,
  counterKey,
  type DetachMessage,
  type ExchangeMessage,
  type LimitItem,
} from '../../domain/limits/exchange.ts';
import { sliceAt } from '../../domain/rules/slice.ts';
import { attachMessage, exchangeMessage, limitItem } from '../support/limit-messages.ts';

export type WorldMessage =
  | {
      readonly kind: 'attach';
      readonly message: AttachMessage;
      readonly taken: (session: number, sequence: number) => void;
    }
  | {
      readonly kind: 'exchange';
      readonly message: ExchangeMessage;
      readonly granted: (units: readonly number[]) => void;
      readonly refused: () => void;
    }
  | { readonly kind: 'detach'; readonly message: DetachMessage };

interface Proxy {
  readonly instance: string;
  boots: number;
  connection: number;
  session: number | undefined;
  sequence: number;
  held: Map<string, number>;
  mustAttach: boolean;
}

const counters = [
  { period: 1, cap: 20 },
  { period: 60, cap: 100 },
  { period: 60, cap: 2 ** 50 },
  { period: 3_600, cap: 40 },
  { period: 0, cap: 6 },
  { period: 0, cap: 1_000 },
].map(({ period, cap }, index) => {
  const rule = { key: `rule "${index}" 漢`, epoch: index, periodSeconds: period };
  return { key: counterKey(rule, period === 0 ? 'slots' : 'requests', index === 1 ? 'child:é' : ''), period, cap };
});

export const worldKeys = counters.map(({ key }) => key);

export class LimitWorld {
  readonly #random: () => number;
  readonly #proxies: readonly Proxy[];
  #generation = '';
  #server = 'run 1';
  #step = 0;
  #isBeating = true;
  nowMs = 1_700_000_000_123;

  constructor(random: () => number) {
    this.#random = random;
    this.#proxies = ['a', 'b/é', 'c "quoted"'].map((instance) => {
      return { instance, boots: 1, connection: 0, session: undefined, sequence: 0, held: new Map(), mustAttach: true };
    });
  }

  next(): WorldMessage {
    this.#passTime();
    this.#step += 1;
    // One after the other is silent for longer than a session lives, and then none; in every other part nobody beats.
    const part = Math.floor(this.#step / 50);
    this.#isBeating = part % 2 === 0;
    const silent = this.#proxies[part % (this.#proxies.length + 1)];
    const proxy = this.#oneOf(this.#proxies.filter((each) => each !== silent));
    if (proxy.mustAttach || this.#isOnce(15)) return this.#attach(proxy);
    if (this.#isOnce(60)) {
      const { session = 0, connection } = proxy;
      // Whatever it holds is given up by the store: a proxy tells before that it holds nothing.
      if (this.#isOnce(2)) proxy.mustAttach = true;
      return { kind: 'detach', message: { session, connection: this.#isOnce(3) ? connection - 1 : connection } };
    }
    return this.#exchange(proxy);
  }

  /** The store has said which one it is. */
  knows(generation: string): void {
    this.#generation = generation;
  }

  /** Mostly some milliseconds, now and then a second or a step back. */
  #passTime(): void {
    const kind = this.#under(40);
    if (kind === 0) this.nowMs -= this.#under(5_000);
    else if (kind < 14) this.nowMs += this.#under(1_500);
    else this.nowMs += this.#under(30);
  }

  #attach(proxy: Proxy): WorldMessage {
    const kind = this.#under(8);
    if (kind === 0) proxy.boots += 1;
    if (kind === 1) this.#server = `run ${this.#under(3)}`;
    proxy.connection += 1;
    const { session } = proxy;
    const isFresh = session === undefined || (kind === 0 && this.#isOnce(2));
    const knows = isFresh ? {} : { session, generation: kind === 2 ? 'another' : this.#generation };
    const message = attachMessage(proxy.instance, {
      boot: `${proxy.instance} ${proxy.boots}`,
      // One that arrives behind those of later connections.
      connection: kind === 3 ? Math.max(1, proxy.connection - 2) : proxy.connection,
      server: this.#server,
      live: this.#under(5),
      ...knows,
    });
    return {
      kind: 'attach',
      message,
      taken(id, sequence) {
        if (id !== session) proxy.held = new Map();
        proxy.session = id;
        proxy.sequence = sequence;
        proxy.mustAttach = false;
      },
    };
  }

  #exchange(proxy: Proxy): WorldMessage {
    const isLate = this.#isOnce(25);
    const items = counters.filter(() => this.#isOnce(3)).map((counter) => this.#item(proxy, counter));
    const groups = Array.from({ length: this.#under(3) }, () => {
      const needed = [...items.keys()].filter(() => this.#isOnce(2));
      return {
        requests: 1 + this.#under(4),
        needs: needed.map((index) => [index, this.#under(4), this.#under(3), this.#isOnce(3) ? 1 : 0] as const),
      };
    }).filter(({ needs }) => needs.length > 0);
    const isOfFormer = this.#isOnce(40);
    if (!isLate && !isOfFormer) proxy.sequence += 1;
    const message = exchangeMessage(proxy.session ?? 0, {
      connection: isOfFormer ? proxy.connection - 1 : proxy.connection,
      sequence: isOfFormer ? proxy.sequence + 1 : proxy.sequence,
      beat: this.#isBeating && this.#isOnce(2),
      told: this.#isOnce(2),
      items,
      groups,
    });
    return {
      kind: 'exchange',
      message,
      granted(units) {
        for (const [index, { key, held }] of items.entries()) proxy.held.set(key, held + (units[index] ?? 0));
      },
      refused() {
        proxy.mustAttach = true;
      },
    };
  }

  #item(proxy: Proxy, { key, period, cap }: (typeof counters)[number]): LimitItem {
    const had = proxy.held.get(key) ?? 0;
    const used = this.#under(had + 1);
    const held = this.#isOnce(10) ? had + this.#under(5) : had - used;
    const now = period === 0 ? 0 : sliceAt(this.nowMs, period);
    const slice = now - (this.#isOnce(5) ? 58 + this.#under(5) : this.#under(4) - 1);
    const refunded = now - (this.#isOnce(2) ? 58 + this.#under(5) : this.#under(5));
    return limitItem(key, {
      period,
      cap: this.#isOnce(12) ? Math.ceil(cap / 3) : cap,
      held,
      spare: this.#under(held + 1),
      uses: period === 0 || used === 0 ? [] : [[slice, used]],
      refunds: period === 0 || !this.#isOnce(4) ? [] : [[refunded, refunded + this.#under(3), 1 + this.#under(3)]],
      wish: this.#isOnce(2) ? this.#under(1_000) : 0,
      least: 4,
      dated: this.#isOnce(4),
    });
  }

  #under(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  /** True once in so many times. */
  #isOnce(times: number): boolean {
    return this.#under(times) === 0;
  }

  #oneOf<Item>(list: readonly Item[]): Item {
    return list[this.#under(list.length)] as Item;
  }
}
