// Long work in slices, so that it holds up no other request: a generator yields where it may pause.

/** Runs to the end at once. */
export function atOnce<Result>(work: Generator<undefined, Result, undefined>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Runs to the end, other work between its slices. */
export async function inSlices<Result>(work: Generator<undefined, Result, undefined>): Promise<Result> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
