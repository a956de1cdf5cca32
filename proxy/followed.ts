// What comes behind a value that may have to be waited for.

/** Does the next with the value: at once, and without a promise, where it is there. */
export function followed<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
