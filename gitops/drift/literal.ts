// Dollar signs of the configuration: a text that an operator set means what it says, so what would fill in a variable is written as `$$`. Pure.
import { isTree } from '../../schemas/validation/value-at.ts';

/** The value as a file says it: in a text with what may be read as a variable, each dollar sign is doubled. */
export function asWritten<Value>(value: Value): Value {
  return mapped(value) as Value;
}

/** What a text of a file without variables means. */
export function asMeant(text: string): string {
  return text.replaceAll('$$', '$');
}

function mapped(value: unknown): unknown {
  if (typeof value === 'string') return /\$[${A-Za-z_]/.test(value) ? value.replaceAll('$', () => '$$') : value;
  if (Array.isArray(value)) return value.map(mapped);
  if (!isTree(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapped(inner)]));
}
