// Work that waits only where it must: a generator that gives what is to be waited for. Where nothing is, it is done at once, without a promise.

export type Flow<Result> = Generator<Promise<unknown>, Result, unknown>;

/** The value, or that of the promise. */
export function* settled<Value>(value: Value | Promise<Value>): Flow<Value> {
  return value instanceof Promise ? ((yield value) as Value) : value;
}

/** Does the work. What it throws is thrown, or rejects. */
export function run<Result>(work: Flow<Result>): Result | Promise<Result> {
  const { done, value } = work.next();
  return done === true ? value : goOn(work, value);
}

async function goOn<Result>(work: Flow<Result>, first: Promise<unknown>): Promise<Result> {
  let open = first;
  for (;;) {
    const [come, failed] = await open.then(
      (value) => [value, undefined] as const,
      (error: unknown) => [undefined, { error }] as const,
    );
    const { done, value } = failed === undefined ? work.next(come) : work.throw(failed.error);
    if (done === true) return value;
    open = value;
  }
}
