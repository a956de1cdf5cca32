// The schema of an answer as Claude takes it, at Anthropic and at Bedrock: objects are closed, and limits are told in words, as the SDKs of
// Anthropic do it (platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema limitations").
import { isObject, type JsonObject, type JsonValue, listOf, objectOf, writeJson } from '../json/json.ts';
import type { Losses } from '../translation.ts';

/** Members that are taken as they are. */
const plain: ReadonlySet<string> = new Set('type title description const default required $ref'.split(' '));
/** Members that say nothing of an answer. */
const silent: ReadonlySet<string> = new Set('$schema $id $anchor $comment deprecated readOnly writeOnly'.split(' '));
const formats: ReadonlySet<JsonValue | undefined> = new Set(
  'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '),
);
/** Expressions that look around, refer back, or know the bounds of words are refused. */
const hardPattern = /\(\?|\\[bB1-9]/;

/** A schema that Claude accepts, as far as it can. */
export interface ClosedSchema {
  readonly schema: JsonObject;
  /** Objects could have had members that it does not name, and cannot any more. */
  readonly isNarrower: boolean;
  /** It refers to itself, which is refused. */
  readonly isRecursive: boolean;
}

/**
 * The schema of an answer for Claude; undefined when Claude cannot enforce it. Losses are told to `losses`. `field`:
 * the client's name of the schema.
 */
export function closedOutput(given: JsonObject, field: string, losses: Losses): JsonObject | undefined {
  const { schema, isNarrower, isRecursive } = closedSchema(given);
  if (isNarrower) losses.hint(`${field}.additionalProperties`);
  if (!isRecursive) return schema;
  losses.meaning(field, 'its schemas may not refer to themselves');
  return undefined;
}

/** The schema with closed objects and only keywords that Claude accepts, with facts about the changes. */
export function closedSchema(schema: JsonObject): ClosedSchema {
  const closer = new SchemaCloser();
  const closed = closer.close(schema) as JsonObject;
  return { schema: closed, isNarrower: closer.isNarrower, isRecursive: holdsItself(closed) };
}

/** References that lead from one to the next; longer chains count as endless. */
const longestChain = 200;

/** Whether what references lead to refers back to where it came from. Definitions stand at the top. */
function holdsItself(schema: JsonObject): boolean {
  const { $defs, definitions, ...own } = schema;
  const open = new Set<string>();
  const done = new Set<string>();
  const isCircle = (reference: string): boolean => {
    if (reference === '#' || open.has(reference) || open.size > longestChain) return true;
    if (done.has(reference)) return false;
    const [, list, name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? [];
    const named = objectOf(list === '$defs' ? $defs : definitions)?.[name];
    open.add(reference);
    const found = [...referencesIn(named)].some(isCircle);
    open.delete(reference);
    done.add(reference);
    return found;
  };
  return [...referencesIn(own)].some(isCircle);
}

function* referencesIn(value: JsonValue | undefined): Generator<string> {
  if (Array.isArray(value)) for (const entry of value as readonly JsonValue[]) yield* referencesIn(entry);
  if (!isObject(value)) return;
  for (const [key, member] of Object.entries(value)) {
    if (key === '$ref' && typeof member === 'string') yield member;
    else yield* referencesIn(member);
  }
}

class SchemaCloser {
  isNarrower = false;

  close(given: JsonValue): JsonValue {
    if (!isObject(given)) return given;
    // Claude refuses members beside a reference.
    if (given['$ref'] !== undefined) return this.#withDefinitions({ $ref: given['$ref'] }, given);
    const schema = unwrapped(given);
    if (schema['$ref'] !== undefined) return schema;
    const written: Record<string, JsonValue> = {};
    const told: string[] = [];
    for (const [keyword, value] of Object.entries(schema)) {
      if (value === undefined || silent.has(keyword) || nested.has(keyword)) continue;
      if (plain.has(keyword) || isTaken(keyword, value)) written[keyword] = value;
      else if (keyword !== 'additionalProperties') told.push(`${keyword}: ${writeJson(value)}`);
    }
    const choices = [...(listOf(schema['anyOf']) ?? []), ...(listOf(schema['oneOf']) ?? [])];
    if (choices.length > 0) written['anyOf'] = choices.map((choice) => this.close(choice));
    const all = listOf(schema['allOf']);
    if (all !== undefined) written['allOf'] = all.map((entry) => this.close(entry));
    const { items } = schema;
    // Of a tuple any of its entries.
    const tuple = listOf(items);
    if (items !== undefined) written['items'] = this.close(tuple === undefined ? items : { anyOf: tuple });
    if (isOfObjects(schema)) this.#closeObject(schema, written, told);
    else if (schema['type'] === undefined && schema['items'] !== undefined) written['type'] = 'array';
    if (told.length > 0) {
      const limits = `{${told.join(', ')}}`;
      const { description } = written;
      written['description'] = typeof description === 'string' ? `${description}\n\n${limits}` : limits;
    }
    return this.#withDefinitions(written, schema);
  }

  #closeObject(schema: JsonObject, written: Record<string, JsonValue>, told: string[]): void {
    const properties = objectOf(schema['properties']);
    const { additionalProperties: others } = schema;
    const isOpen = others === true || isObject(others) || (others === undefined && properties === undefined);
    if (isOpen) this.isNarrower = true;
    if (isObject(others)) told.push(`additionalProperties: ${writeJson(others)}`);
    written['type'] = schema['type'] ?? 'object';
    if (properties !== undefined) written['properties'] = this.#each(properties);
    written['additionalProperties'] = false;
  }

  #withDefinitions(written: JsonObject, schema: JsonObject): JsonObject {
    const definitions = ['$defs', 'definitions'].flatMap((keyword) => {
      const found = objectOf(schema[keyword]);
      return found === undefined ? [] : [[keyword, this.#each(found)]];
    });
    return { ...written, ...Object.fromEntries(definitions) };
  }

  #each(schemas: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, this.close(schema ?? {})]));
  }
}

/** Members that hold schemas, which are closed, too. */
const nested: ReadonlySet<string> = new Set('anyOf oneOf allOf items properties $defs definitions'.split(' '));

/** An `allOf` of one entry is what stands beside it and this entry; of a reference, which must stand alone, its words are given up. */
function unwrapped(schema: JsonObject): JsonObject {
  const [only, ...others] = listOf(schema['allOf']) ?? [];
  if (!isObject(only) || others.length > 0) return schema;
  const { allOf: _, ...beside } = schema;
  if (only['$ref'] === undefined) return { ...only, ...beside };
  return Object.keys(beside).every((keyword) => words.has(keyword)) ? only : schema;
}

const words: ReadonlySet<string> = new Set(['title', 'description', 'default']);

function isOfObjects({ type, properties }: JsonObject): boolean {
  if (type === undefined) return properties !== undefined;
  return type === 'object' || listOf(type)?.includes('object') === true;
}

function isTaken(keyword: string, value: JsonValue): boolean {
  switch (keyword) {
    case 'enum':
      return listOf(value)?.every((entry) => !isObject(entry) && !Array.isArray(entry)) === true;
    case 'format':
      return formats.has(value);
    case 'pattern':
      return typeof value === 'string' && !hardPattern.test(value);
    case 'minItems':
      return value === 0 || value === 1;
    default:
      return false;
  }
}
