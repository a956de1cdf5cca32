// Changes of a text at known places: all are made against the text before them. Pure.

/** What stands from `from` to before `to` is replaced by `text`. Offsets in UTF-16 units. */
export interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** In the order of the text; of equal places in the order given. Undefined: two of them overlap. */
export function inTextOrder(splices: readonly Splice[]): readonly Splice[] | undefined {
  const sorted = splices.toSorted((one, other) => one.from - other.from || one.to - other.to);
  const isApart = sorted.every(({ from }, index) => index === 0 || from >= (sorted[index - 1]?.to ?? 0));
  return isApart ? sorted : undefined;
}

/** `splices` in the order of the text. */
export function spliced(text: string, splices: readonly Splice[]): string {
  const parts: string[] = [];
  let end = 0;
  for (const { from, to, text: next } of splices) {
    parts.push(text.slice(end, from), next);
    end = to;
  }
  return parts.join('') + text.slice(end);
}
