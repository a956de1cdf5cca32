// Reads a row for every configuration field from the JSON Schemas: path, type, default, meaning.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isTree, type Tree } from '../validation/value-at.ts';

const folder = join(import.meta.dirname, '../config');

/** One field. All texts are Markdown, not yet escaped. */
export interface FieldRow {
  /** `aliases[].targets[].weight`, `providers.<name>.type`. */
  readonly path: string;
  /** `duration`, `integer, 1 to 100`, `list`. */
  readonly type: string;
  /** As written in a file; `required` for a required field; empty for an optional field without a default. */
  readonly default: string;
  readonly says: string;
}

/** One top-level key and the fields in it, in the order of its schema. */
export interface FieldSection {
  readonly key: string;
  readonly says: string;
  readonly rows: readonly FieldRow[];
}

/** A schema, and the file that its local references refer to. */
interface SchemaInFile {
  readonly schema: Tree;
  readonly file: string;
}

/** Reads `schemas/config`: every top-level key. */
export function readFieldSections(): FieldSection[] {
  const root: SchemaInFile = { schema: open('config.schema.json'), file: 'config.schema.json' };
  const described = new Map<string, string>();
  return childrenOf(root.schema, 'properties').map(([key, schema]) => {
    const [own, ...rows] = rowsOf({ schema, file: root.file }, key, { isRequired: false, described });
    return { key, says: own.says, rows };
  });
}

/** How durations and sizes are written, with examples. */
export function readUnits(): { says: string; examples: readonly string[] }[] {
  return childrenOf(open('units.schema.json'), '$defs').map(([, { description, examples }]) => ({
    says: String(description),
    examples: Array.isArray(examples) ? examples.map(String) : [],
  }));
}

interface Circumstances {
  readonly isRequired: boolean;
  /** Shapes that already have rows: reference → path of the first one. */
  readonly described: Map<string, string>;
}

/** The row of a field and of the fields in it. A shape that several fields share is listed once. */
function rowsOf(
  place: SchemaInFile,
  path: string,
  { isRequired, described }: Circumstances,
): [FieldRow, ...FieldRow[]] {
  const { schema, file, reference } = resolved(place);
  const row = {
    path,
    type: typeOf(schema),
    default: isRequired ? 'required' : defaultOf(schema),
    says: saysOf(schema),
  };
  const inner = innerPlaces(schema, path);
  const before = reference === undefined ? undefined : described.get(reference);
  if (before !== undefined && inner.length > 0) return [{ ...row, says: `${row.says} As \`${before}\`.` }];
  if (reference !== undefined) described.set(reference, path);
  const below = inner.flatMap(({ at, schema: child, isRequired: isNeeded }) =>
    rowsOf({ schema: child, file }, at, { isRequired: isNeeded, described }),
  );
  return [row, ...below];
}

interface Inner {
  readonly at: string;
  readonly schema: Tree;
  readonly isRequired: boolean;
}

/** The fields in a field. The entries of a list of plain values are not separate fields. */
function innerPlaces(schema: Tree, path: string): Inner[] {
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const named = childrenOf(schema, 'properties').map(([name, child]) => ({
    at: `${path}.${name}`,
    schema: child,
    isRequired: required.has(name),
  }));
  const { items, additionalProperties: values } = schema;
  const listed = isTree(items) && '$ref' in items ? [{ at: `${path}[]`, schema: items, isRequired: false }] : [];
  const mapped = isTree(values) ? [{ at: `${path}.<name>`, schema: values, isRequired: false }] : [];
  return [...named, ...listed, ...mapped];
}

/** The schema with its reference resolved; keywords beside a reference win. */
function resolved({ schema, file }: SchemaInFile): SchemaInFile & { readonly reference?: string } {
  const reference = schema['$ref'];
  if (typeof reference !== 'string') return { schema, file };
  const [name, pointer = ''] = reference.split('#');
  const target = name || file;
  let found: unknown = open(target);
  for (const step of pointer.split('/').slice(1)) found = isTree(found) ? found[step] : undefined;
  if (!isTree(found)) throw new TypeError(`${file}: ${reference} leads nowhere`);
  return { schema: { ...found, ...schema }, file: target, reference: `${target}#${pointer}` };
}

function typeOf(schema: Tree): string {
  const { enum: values, type, minimum, maximum, items, 'x-unit': unit } = schema;
  if (typeof unit === 'string') return unit;
  if (Array.isArray(values)) return choiceOf(values.map((value) => `\`${String(value)}\``));
  if (type === 'array') return isTree(items) && '$ref' in items ? 'list' : 'list of strings';
  if (type === 'object') return isTree(schema['additionalProperties']) ? 'map' : 'object';
  if (Array.isArray(type)) return type.join(' or ');
  if (typeof minimum !== 'number') return String(type);
  return `${String(type)}, ${typeof maximum === 'number' ? `${minimum} to ${maximum}` : `at least ${minimum}`}`;
}

/** `a`; `a or b`; `a, b or c`. */
function choiceOf(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((text) => text !== '').join(' or ');
}

/** The default as written in YAML; empty for an empty object or list, because the fields in it have defaults. */
function defaultOf({ default: value }: Tree): string {
  return typeof value === 'object' || value === undefined
    ? ''
    : `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

/** The description, then the conditions of names and members, as sentences. */
function saysOf({ description, allOf, propertyNames }: Tree): string {
  const conditions = [propertyNames, ...(Array.isArray(allOf) ? allOf : [])].filter(isTree);
  const sentences = conditions.map((condition) => String(condition['description']));
  return [String(description), ...sentences.map((text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`)].join(
    ' ',
  );
}

function childrenOf(schema: Tree, key: string): [string, Tree][] {
  const children = schema[key];
  return isTree(children) ? Object.entries(children).filter((entry): entry is [string, Tree] => isTree(entry[1])) : [];
}

function open(file: string): Tree {
  return JSON.parse(readFileSync(join(folder, file), 'utf8')) as Tree;
}
