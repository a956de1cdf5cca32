// Dollar signs of the configuration: a text that an operator set means what it says, so what would fill in a variable is written as `$$`. Pure.
import { isTree } from '../../schemas/validation/value-at.ts';

/** The value as a file says it: in a text with what may be read as a variable, each dollar sign is doubled. */
export function asWritten<Value>(value: Value): Value {
  return mapped(value, written) as Value;
}

/** What a text of a file without variables means. */
export function asMeant(text: string): string {
  return text.replaceAll('$$', '$');
}

/** What a value of a file without variables means. */
export function valueAsMeant(value: unknown): unknown {
  return mapped(value, asMeant);
}

function mapped(value: unknown, textOf: (text: string) => string): unknown {
  if (typeof value === 'string') return textOf(value);
  if (Array.isArray(value)) return value.map((each) => mapped(each, textOf));
  if (!isTree(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapped(inner, textOf)]));
}

function written(text: string): string {
  return /\$[${A-Za-z_]/.test(text) ? text.replaceAll('$', () => '$$') : text;
}
