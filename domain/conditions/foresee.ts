// Finds conditions that are the same for every request, by trying the values of facts that have few.
import type { Used } from './compile-node.ts';
import { type FactName, type Facts, onlyPath, weekdays } from './facts.ts';

/** Undefined: it may hold, and may not. */
export type Foreseen = 'always' | 'never' | undefined;

/** More combinations are not tried. */
const mostTried = 20_000;

/**
 * Whether the condition has one value for all combinations of the facts that have few values: of a number, the numbers of the expression and
 * those beside them stand for all others. Texts, labels and headers are not known: what depends on them may be either.
 */
export function foresee(holds: (facts: Facts) => boolean | undefined, { names, numbers }: Used): Foreseen {
  const near = [...new Set([0, ...[...numbers].flatMap((each) => [each - 1, each, each + 1])])].filter(
    (each) => each >= 0,
  );
  const values: Partial<Record<FactName, readonly (boolean | number | string)[]>> = {
    hour: Array.from({ length: 24 }, (_, hour) => hour),
    weekday: weekdays,
    stream: [false, true],
    images: [false, true],
    tokens: near,
    tools: near,
  };
  const tried = [...names].flatMap((name) => {
    const of = values[name];
    return of === undefined ? [] : [{ name, of }];
  });
  const count = tried.reduce((product, { of }) => product * of.length, 1);
  if (count > mostTried) return undefined;
  let foreseen: boolean | undefined;
  for (let combination = 0; combination < count; combination += 1) {
    const facts: Record<string, unknown> = { ...onlyPath('/'), path: undefined };
    let rest = combination;
    for (const { name, of } of tried) {
      facts[name] = of[rest % of.length];
      rest = Math.floor(rest / of.length);
    }
    const found = holds(facts as unknown as Facts);
    if (found === undefined || (foreseen !== undefined && found !== foreseen)) return undefined;
    foreseen = found;
  }
  return foreseen ? 'always' : 'never';
}
