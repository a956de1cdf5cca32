// How a request goes along its line: part by part, and what a part throws becomes the answer.

/** A part of a line. */
export type Step<Trip, Value> = (trip: Trip, value: Value) => void;

/** A request on its way. It needs no promise where nothing is waited for. */
export abstract class Stepping {
  /** Answers with what went wrong, as far as that can still be said. */
  abstract refuse(error: unknown): void;

  /** Takes a part of the line. */
  step<Value>(part: Step<this, Value>, value: Value): void {
    try {
      part(this, value);
    } catch (error) {
      this.refuse(error);
    }
  }

  /** The same when the value is there: at once, within the part before, where nothing is waited for. */
  when<Value>(value: Value | Promise<Value>, part: Step<this, Value>): void {
    if (!(value instanceof Promise)) part(this, value);
    else
      value.then(
        (come) => this.step(part, come),
        (reason: unknown) => this.refuse(reason),
      );
  }
}
