// Instances of JSON Schemas: the arguments of tools and the structured answers of the demo model, the same every time.
import { isList, isObject } from './requests.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The strings and numbers for an instance, in order. */
export type Material = { readonly texts: readonly string[]; readonly numbers: readonly number[] };

type Making = { readonly root: unknown; readonly material: Material; texts: number; numbers: number; values: number };

/** From here on, members that may be left out are. */
const deep = 5;
/** A schema that contains itself ends at this depth, or after so many values. */
const deepest = 12;
const mostValues = 5000;
const openers = new Set(
  'a an and answer are ask at call can could do does extract find for get give how i in is it list look make my name now on please say show tell that the then this to use what when where which who why with would write you'.split(
    ' ',
  ),
);
const formats: Readonly<Record<string, string>> = {
  date: '2026-01-01',
  time: '12:00:00Z',
  'date-time': '2026-01-01T12:00:00Z',
  duration: 'P1D',
  email: 'demo@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};
const samples = ['a', 'A', '1', 'demo', 'Demo', '12', '123', '12345', ...Object.values(formats)];

/**
 * The material of a text: quoted words first, then names (words with a capital, joined when they follow one another);
 * where it has neither, its longer words. `without` lists words that are no material, such as names of tools.
 */
export function materialOf(text: string, without: readonly string[]): Material {
  const rest = without.reduce((left, name) => left.replaceAll(name, ' '), text);
  const quoted = [...rest.matchAll(/["“]([^"“”]+)["”]/g)].map((match) => match[1] ?? '');
  const words: string[] = rest.match(/[\p{L}\p{M}][\p{L}\p{M}\p{N}'’-]*/gu) ?? [];
  const names: string[] = rest.match(/\p{Lu}[\p{L}\p{M}\p{N}'’-]+(?: \p{Lu}[\p{L}\p{M}\p{N}'’-]+)*/gu) ?? [];
  const told = [...quoted, ...names.map(withoutOpener).filter((name) => name !== '')];
  const longer = words.filter((word) => word.length > 3 && !openers.has(word.toLowerCase()));
  const texts = told.length > 0 ? told : longer.length > 0 ? longer : words;
  return { texts: [...new Set(texts)], numbers: (rest.match(/(?<![\p{L}\d])\d+(?:\.\d+)?/gu) ?? []).map(Number) };
}

/** A name without the words that begin a sentence: `What Paris` is about Paris. */
function withoutOpener(name: string): string {
  const words = name.split(' ');
  const first = words.findIndex((word) => !openers.has(word.toLowerCase()));
  return first < 0 ? '' : words.slice(first).join(' ');
}

/** An instance of a schema: enums give their first value, objects the members they require, arrays one item. */
export function instanceOf(schema: unknown, material: Material): unknown {
  return make(schema, 'text', 0, { root: schema, material, texts: 0, numbers: 0, values: 0 });
}

function make(given: unknown, name: string, depth: number, making: Making): unknown {
  making.values += 1;
  if (depth > deepest || making.values > mostValues) return null;
  if (!isObject(given)) return makeText({}, name, making);
  const schema = resolve(given, making.root);
  if ('const' in schema) return schema['const'];
  const options = [schema['enum'], schema['examples']].find((list) => isList(list) && list.length > 0);
  if (isList(options)) return options[0];
  const alternatives = schema['anyOf'] ?? schema['oneOf'];
  if (isList(alternatives)) return make(choose(alternatives, depth), name, depth + 1, making);
  const type = typeOf(schema, depth);
  if (type === 'object') return makeObject(schema, depth, making);
  if (type === 'array') return makeArray(schema, name, depth, making);
  if (type === 'number' || type === 'integer') return makeNumber(schema, type, making);
  if (type === 'boolean') return true;
  return type === 'null' ? null : makeText(schema, name, making);
}

/** Follows `$ref` inside of the schema and joins `allOf`. */
function resolve(schema: Schema, root: unknown): Schema {
  let found = schema;
  for (let hops = 0; hops < deepest && typeof found['$ref'] === 'string'; hops += 1) {
    const target = follow(found['$ref'], root);
    if (!isObject(target)) break;
    found = target;
  }
  const all = found['allOf'];
  if (!isList(all)) return found;
  const parts = [
    found,
    ...all.filter(isObject).map((part) => ({ ...part, ...('$ref' in part && lookUp(part, root)) })),
  ];
  const required = parts.flatMap((part) => (isList(part['required']) ? part['required'] : []));
  const properties = Object.assign({}, ...parts.map((part) => part['properties'])) as Schema;
  return Object.assign({}, ...parts, { allOf: undefined, properties, required }) as Schema;
}

function lookUp(part: Schema, root: unknown): Schema {
  const target = follow(String(part['$ref']), root);
  return isObject(target) ? target : {};
}

function follow(pointer: string, root: unknown): unknown {
  const keys = pointer.replace(/^#\/?/, '').split('/').filter(Boolean);
  return keys.reduce<unknown>((value, key) => {
    const member = decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~');
    return isObject(value) && Object.hasOwn(value, member) ? value[member] : undefined;
  }, root);
}

/** The first alternative; deep down one that ends. */
function choose(alternatives: readonly unknown[], depth: number): unknown {
  const isNull = (schema: unknown): boolean => isObject(schema) && schema['type'] === 'null';
  const wanted = depth >= deep ? alternatives.find(isNull) : alternatives.find((schema) => !isNull(schema));
  return wanted ?? alternatives[0];
}

function typeOf(schema: Schema, depth: number): unknown {
  const types = isList(schema['type']) ? schema['type'] : [schema['type'] ?? guessType(schema)];
  const isEnd = depth >= deep && types.includes('null');
  return isEnd ? 'null' : (types.find((type) => type !== 'null') ?? types[0]);
}

function guessType(schema: Schema): string {
  if ('properties' in schema) return 'object';
  return 'items' in schema || 'prefixItems' in schema ? 'array' : 'string';
}

function makeObject(schema: Schema, depth: number, making: Making): object {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = isList(schema['required']) ? schema['required'].map(String) : [];
  const optional = depth >= deep ? [] : Object.keys(properties);
  const names = required.length > 0 ? required : optional;
  return Object.fromEntries(names.map((name) => [name, make(properties[name] ?? {}, name, depth + 1, making)]));
}

function makeArray(schema: Schema, name: string, depth: number, making: Making): unknown[] {
  const first = isList(schema['prefixItems']) ? schema['prefixItems'] : [];
  const least = Math.max(Number(schema['minItems'] ?? 0), depth >= deep ? 0 : 1, first.length);
  const length = Math.min(least, Number(schema['maxItems'] ?? 100), 100);
  return Array.from({ length }, (_, index) => make(first[index] ?? schema['items'] ?? {}, name, depth + 1, making));
}

function makeNumber(schema: Schema, type: string, making: Making): number {
  const { numbers } = making.material;
  const step = Number(schema['multipleOf'] ?? 0);
  const least = Number(schema['minimum'] ?? Number.NEGATIVE_INFINITY);
  const most = Number(schema['maximum'] ?? Number.POSITIVE_INFINITY);
  const above = Number(schema['exclusiveMinimum'] ?? Number.NEGATIVE_INFINITY);
  const below = Number(schema['exclusiveMaximum'] ?? Number.POSITIVE_INFINITY);
  const fits = (value: number): boolean =>
    Number.isFinite(value) &&
    (type === 'number' || Number.isInteger(value)) &&
    value >= least &&
    value <= most &&
    value > above &&
    value < below &&
    (step <= 0 || value % step === 0);
  const own = numbers.map((_, index) => numbers[(making.numbers + index) % numbers.length] ?? 0).filter(fits);
  making.numbers += 1;
  const floor = Math.max(least, above);
  const multiple = step * (Math.floor((Number.isFinite(floor) ? floor : 0) / step) + 1);
  const others = [1, 0, least, Math.ceil(least), above + 1, most, Math.floor(most), below - 1, multiple];
  return [...own, ...others, (floor + Math.min(most, below)) / 2].find(fits) ?? 1;
}

function makeText(schema: Schema, name: string, making: Making): string {
  const format = formats[String(schema['format'])];
  if (format !== undefined) return format;
  const { texts } = making.material;
  const told = texts[making.texts % texts.length] ?? name;
  making.texts += 1;
  const least = Math.min(Number(schema['minLength'] ?? 0), 10_000);
  const fitted = told.padEnd(least, told || '.').slice(0, Number(schema['maxLength'] ?? told.length + least));
  const pattern = schema['pattern'];
  if (typeof pattern !== 'string') return fitted;
  return [fitted, ...texts, ...samples].find((text) => matches(text, pattern)) ?? fitted;
}

function matches(text: string, pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true;
  }
}
