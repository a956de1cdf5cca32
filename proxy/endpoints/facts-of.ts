// The facts of a name in GET /v1/models: what holds at whichever of its targets a request comes to.
import type { ModelFacts } from '../../domain/models/model-facts.ts';
import type { Target } from '../snapshot/snapshot.ts';

type Known = { -readonly [Name in keyof ModelFacts]: ModelFacts[Name] };

/** Those that are known of every target: the smallest sizes, what all can, the last day of the last one. */
export function factsOf(targets: readonly Pick<Target, 'facts'>[]): ModelFacts {
  const [first, ...others] = targets;
  let known: Known = first?.facts ?? {};
  for (const { facts = {} } of others) known = joined(known, facts);
  return known;
}

function joined(one: ModelFacts, other: ModelFacts): Known {
  const found: Known = {};
  const both = <Value>(name: keyof ModelFacts, join: (a: Value, b: Value) => Value): void => {
    const [a, b] = [one[name], other[name]];
    if (a !== undefined && b !== undefined) Object.assign(found, { [name]: join(a as Value, b as Value) });
  };
  const common = (a: readonly string[], b: readonly string[]): readonly string[] =>
    a.filter((each) => b.includes(each));
  both<number>('context_window', Math.min);
  both<number>('max_output_tokens', Math.min);
  both('input_modalities', common);
  both('output_modalities', common);
  both<boolean>('tools', (a, b) => a && b);
  both<boolean>('reasoning', (a, b) => a && b);
  both<string>('deprecation_date', (a, b) => [a, b].toSorted()[1] ?? a);
  return found;
}
