// The state of balancing per route between requests: whose turn it is.

/** More routes than any config has. */
const mostRemembered = 10_000;

/** Where a route has come to. */
export interface Turn {
  /** Of each target, what it has earned and not yet spent. */
  readonly credits: number[];
  /** How many requests were balanced by latency. */
  requests: number;
  /** The target that was explored last. */
  explored: number;
}

/** A route as far as its turns go. */
interface TurnedRoute {
  readonly name: string;
  readonly targets: readonly unknown[];
}

/** Turns by the name of the route, so that a reload that leaves a route as it is leaves its turn as it is. */
export class Turns {
  readonly #turns = new Map<string, Turn>();

  of({ name, targets }: TurnedRoute): Turn {
    let turn = this.#turns.get(name);
    if (turn === undefined) {
      // Routes of old configs pile up here; forgetting a turn does no harm.
      if (this.#turns.size >= mostRemembered) this.#turns.clear();
      turn = firstTurn(targets);
      this.#turns.set(name, turn);
    }
    return turn;
  }

  /** A copy: what becomes of it is not remembered. */
  copyOf({ name, targets }: TurnedRoute): Turn {
    const turn = this.#turns.get(name);
    return turn === undefined ? firstTurn(targets) : { ...turn, credits: [...turn.credits] };
  }
}

function firstTurn(targets: readonly unknown[]): Turn {
  return { credits: targets.map(() => 0), requests: 0, explored: -1 };
}
