// Long work in slices, so that it holds up no other request: a generator yields where it may pause.

/** Work that pauses wherever it yields. */
export type Slices<Result> = Generator<undefined, Result, undefined>;

/** Work on so many bytes takes a few milliseconds and needs no pause. */
export const shortBytes = 64 * 1024;

/** Runs to the end at once. */
export function atOnce<Result>(work: Slices<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Runs to the end, other work between its slices. */
export async function inSlices<Result>(work: Slices<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Runs work on so many bytes: at once where they are few. What it throws is thrown, or rejects. */
export function sliced<Result>(bytes: number, work: Slices<Result>): Result | Promise<Result> {
  return bytes <= shortBytes ? atOnce(work) : inSlices(work);
}

/** Does the next with the value: at once, and without a promise, where it is there. */
export function followed<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
