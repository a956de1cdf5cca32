// Equal requests that wait for one call: the first leads, the others follow, and one of them leads when it fails, or when its client reads
// too slowly.
import type { CachedAnswer } from '../../store/cache/answer-cache.ts';
import { refusal } from '../errors.ts';
import type { Exchange } from '../http/exchange.ts';
import { Polling } from '../pacing/polling.ts';
import type { SemanticLook } from './semantic-layer.ts';

/** An answer for those who wait. `similar`: it was given to a request that means the same. */
export interface SharedAnswer extends CachedAnswer {
  readonly similar?: SemanticLook;
}

/** The next step of a follower: it gets the answer, makes the call for the others, or makes one for itself alone. */
export type Landing = SharedAnswer | 'lead' | 'alone';

/** How a call ended that others wait for: an answer; `left`: its client has gone, or its own limits refuse it; `failed`; `unkept`: an answer that no other request may get. */
export type FlightEnd = SharedAnswer | 'left' | 'failed' | 'unkept';

/** Of one call, and of all. More make calls of their own. */
const mostFollowers = 1_000;
const mostFollowersInAll = 10_000;
/** After so many failed calls no request waits for another one. */
const mostFailures = 2;
/** Between two looks at the clients whose calls others wait for. Milliseconds. */
const pollMs = 100;

type Member = Pick<Exchange, 'gone' | 'waiting'> & {
  readonly response: Pick<Exchange['response'], 'writableNeedDrain'>;
};

interface Flight {
  leader: Member;
  /** How long its client has not read what was ready, in milliseconds. */
  heldUpMs: number;
  /** Longest `heldUpMs`. */
  readonly patienceMs: number;
  /** The followers in order, with the callback for their next step. Undefined: there are none, as usual. */
  followers: Map<Member, (landing: Landing) => void> | undefined;
  failures: number;
}

export class Flights {
  readonly #flights = new Map<string, Flight>();
  #followers = 0;
  readonly #polling = new Polling(() => this.#poll(), pollMs);

  /** Requests that wait at this moment. */
  get waiting(): number {
    return this.#followers;
  }

  /**
   * At once: it leads, or is one too many. Else a promise, which rejects with 499 `client_left` when its client leaves.
   * `patienceMs`: so long its client may hold up those that follow it.
   */
  join(key: string, exchange: Member, patienceMs: number): 'lead' | 'alone' | Promise<Landing> {
    const flight = this.#flights.get(key);
    if (flight === undefined) {
      this.#flights.set(key, { leader: exchange, heldUpMs: 0, patienceMs, followers: undefined, failures: 0 });
      return 'lead';
    }
    flight.followers ??= new Map();
    const { followers } = flight;
    if (followers.size >= mostFollowers || this.#followers >= mostFollowersInAll) return 'alone';
    if (exchange.gone) throw refusal('client_left');
    this.#followers += 1;
    this.#polling.start();
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#followers -= 1;
        exchange.waiting = undefined;
        followers.delete(exchange);
      };
      followers.set(exchange, (landing) => {
        leave();
        resolve(landing);
      });
      exchange.waiting = {
        gone() {
          leave();
          reject(refusal('client_left'));
        },
      };
    });
  }

  /** Whether others wait for the call of this one. */
  isFollowed(key: string, leader: Member): boolean {
    const flight = this.#flights.get(key);
    return flight?.leader === leader && flight.followers !== undefined && flight.followers.size > 0;
  }

  /** The call of one that led is over. What others have taken over does not end with it. */
  landed(key: string, leader: Member, end: FlightEnd): void {
    const flight = this.#flights.get(key);
    if (flight?.leader !== leader) return;
    if (end === 'failed') flight.failures += 1;
    const goesOn = end === 'left' || (end === 'failed' && flight.failures < mostFailures);
    if (goesOn && handOver(flight)) return;
    this.#flights.delete(key);
    if (flight.followers === undefined) return;
    for (const tell of flight.followers.values()) tell(typeof end === 'string' ? 'alone' : end);
  }

  /** The client of a call that reads too slowly keeps others waiting for an answer that the provider has given. */
  #poll(): boolean {
    for (const flight of this.#flights.values()) {
      if (flight.followers === undefined || !flight.leader.response.writableNeedDrain) continue;
      flight.heldUpMs += pollMs;
      if (flight.heldUpMs >= flight.patienceMs) handOver(flight);
    }
    return this.#followers > 0;
  }
}

/** The first of those that wait leads from here on; false: none waits. */
function handOver(flight: Flight): boolean {
  const [first] = flight.followers ?? [];
  if (first === undefined) return false;
  const [exchange, tell] = first;
  flight.leader = exchange;
  flight.heldUpMs = 0;
  tell('lead');
  return true;
}
