// What the gateway's own requests share, questions and copies for mirrors: no head and no credentials, an end of their own, and no client.
import type { ModelRow } from '../../endpoints/model-endpoints.ts';
import { asRefusal, type Refusal, refusal } from '../../errors.ts';
import type { ModelRequest } from '../../http/exchange.ts';
import type { Target } from '../../snapshot/snapshot.ts';
import type { Accepted, FailedAttempt } from '../../stages/attempts.ts';
import type { Delivery } from '../../stages/relay.ts';
import type { TripKind } from '../kind.ts';
import { Trip } from '../trip.ts';

export abstract class OwnTrip extends Trip<ModelRequest, Accepted, FailedAttempt> {
  readonly askedBy = 'gateway';
  abstract readonly row: ModelRow;
  /** Why the answer is not needed any more. */
  left: Refusal | undefined;
  #timer: NodeJS.Timeout | undefined;

  get path(): string {
    return this.row.path;
  }

  get remembered(): Target | undefined {
    return this.accepted?.target;
  }

  /** Gives it up when it has taken so long; `model`: the one that it asks. */
  endAfter(ms: number, model: string): void {
    this.#timer = setTimeout(() => this.breakOff(refusal('auxiliary_timeout', { fill: { model, ms } })), ms);
  }

  /** Ends it. Tokens that have come are charged. */
  breakOff(reason: Refusal): void {
    if (this.left !== undefined) return;
    this.left = reason;
    this.exchange.gone = true;
    this.exchange.waiting?.gone();
  }

  /** It is over: nothing gives it up any more. */
  over(): void {
    clearTimeout(this.#timer);
  }
}

/** The parts of the spec in which they do not differ. */
export const ownTrips = {
  isOfClient: false,
  isSession: false,
  checkHead: () => undefined,
  // The consumer has asked once: what the gateway asks for that counts under the rules of providers and models alone.
  admission: () => ({ rules: 'nothing', hasBudget: true }),
  entersLate: () => false,
  foresee: () => undefined,
  resolve: () => undefined,
  guard: () => undefined,
  lookUp: () => undefined,
  refuse({ exchange, left }, error) {
    const refused = left ?? asRefusal(error, exchange.id);
    return { status: refused.status, headers: [], refused };
  },
} satisfies Partial<TripKind<OwnTrip, Delivery>>;
