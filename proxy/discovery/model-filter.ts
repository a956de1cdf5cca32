// The filters of `discovery`: patterns in which * stands for any text, the empty one included. Pure.

/** Whether the id of a model passes. */
export type ModelFilter = (id: string) => boolean;

/** An id passes when it matches some pattern of `include`, or there are none, and no pattern of `exclude`. Letter case counts. */
export function modelFilter({
  include,
  exclude = [],
}: {
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
}): ModelFilter {
  const included = include?.map((pattern) => pattern.split('*'));
  const excluded = exclude.map((pattern) => pattern.split('*'));
  return (id) =>
    (included === undefined || included.some((parts) => matches(id, parts))) &&
    !excluded.some((parts) => matches(id, parts));
}

/** The parts between the stars: the first begins the id, the last ends it, each other one stands at its first place behind the one before. */
function matches(id: string, parts: readonly string[]): boolean {
  const [first = '', ...further] = parts;
  const last = further.pop();
  if (last === undefined) return id === first;
  if (!id.startsWith(first)) return false;
  let from = first.length;
  for (const part of further) {
    const at = id.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return id.length - last.length >= from && id.endsWith(last);
}
