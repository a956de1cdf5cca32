// Equal requests that wait for one call: the first leads, the others follow, and one of them leads when it fails.
import type { CachedAnswer } from '../../store/cache/answer-cache.ts';
import type { Exchange } from '../connection/exchange.ts';
import { refusal } from '../errors.ts';
import type { SemanticLook } from './semantic-layer.ts';

/** An answer for those who wait. `similar`: it was given to a request that means the same. */
export interface SharedAnswer extends CachedAnswer {
  readonly similar?: SemanticLook;
}

/** What a follower does next: it gets the answer, makes the call for the others, or makes one for itself alone. */
export type Landing = SharedAnswer | 'lead' | 'alone';

/** How a call ended that others wait for: an answer; `left`: its client has gone, or its own limits refuse it; `failed`; `unkept`: an answer that no other request may get. */
export type FlightEnd = SharedAnswer | 'left' | 'failed' | 'unkept';

/** Of one call, and of all. More make calls of their own. */
const mostFollowers = 1_000;
const mostFollowersInAll = 10_000;
/** After so many failed calls no request waits for another one. */
const mostFailures = 2;

type Follower = Pick<Exchange, 'gone' | 'waiting'>;

interface Flight {
  /** In their order; what each does next. Undefined: none has come, as usual. */
  followers: Map<Follower, (landing: Landing) => void> | undefined;
  failures: number;
}

export class Flights {
  readonly #flights = new Map<string, Flight>();
  #followers = 0;

  /** Requests that wait at this moment. */
  get waiting(): number {
    return this.#followers;
  }

  /** At once: it leads, or is one too many. Else a promise, which rejects with 499 `client_left` when its client leaves. */
  join(key: string, exchange: Follower): 'lead' | 'alone' | Promise<Landing> {
    const flight = this.#flights.get(key);
    if (flight === undefined) {
      this.#flights.set(key, { followers: undefined, failures: 0 });
      return 'lead';
    }
    flight.followers ??= new Map();
    const { followers } = flight;
    if (followers.size >= mostFollowers || this.#followers >= mostFollowersInAll) return 'alone';
    if (exchange.gone) throw refusal('client_left');
    this.#followers += 1;
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

  /** Whether others wait for this call. */
  isFollowed(key: string): boolean {
    return (this.#flights.get(key)?.followers?.size ?? 0) > 0;
  }

  /** The call of the leader is over. */
  landed(key: string, end: FlightEnd): void {
    const flight = this.#flights.get(key);
    if (flight === undefined) return;
    if (end === 'failed') flight.failures += 1;
    const goesOn = end === 'left' || (end === 'failed' && flight.failures < mostFailures);
    const [next] = goesOn ? (flight.followers?.values() ?? []) : [];
    if (next !== undefined) {
      next('lead');
      return;
    }
    this.#flights.delete(key);
    if (flight.followers === undefined) return;
    for (const tell of flight.followers.values()) tell(typeof end === 'string' ? 'alone' : end);
  }
}
