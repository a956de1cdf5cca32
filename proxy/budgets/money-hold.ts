// The money that one request has set aside under the budgets of its caller, until it is over.
import { giveBack, type SetAside } from '../limits/set-aside.ts';

export class MoneyHold {
  #aside: readonly SetAside[] = [];
  #isHeld = true;

  /** Whether something is set aside. */
  get isEmpty(): boolean {
    return this.#aside.length === 0;
  }

  /** Takes what was set aside; call it once. A request that is over gives it back at once: it has left while the state store was asked. */
  take(aside: readonly SetAside[]): void {
    if (this.#isHeld) this.#aside = aside;
    else for (const each of aside) giveBack(each);
  }

  /** The request is over. A second call does nothing. */
  release(): void {
    this.#isHeld = false;
    for (const each of this.#aside) giveBack(each);
    this.#aside = [];
  }
}
