// Rewrites a JSON Schema as the part of OpenAPI that Gemini reads: references are written out, and what it refuses is left out.
import { isObject, type JsonObject, type JsonValue, listOf, objectOf, textOf, writeJson } from '../json/json.ts';
import { SchemaReferences } from '../tools/schema-references.ts';

/** Members that Gemini reads, and that need no change. */
const plain: readonly string[] = [
  'title',
  'description',
  'nullable',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minProperties',
  'maxProperties',
  'pattern',
  'default',
  'example',
  'propertyOrdering',
];
/** Members that are rewritten, or mean nothing to a model. */
const handled: ReadonlySet<string> = new Set(
  [
    'type enum const format properties required items prefixItems anyOf oneOf allOf additionalProperties',
    '$ref $defs definitions $schema $id $anchor $comment examples deprecated readOnly writeOnly',
    ...plain,
  ].flatMap((names) => names.split(' ')),
);
const formats: ReadonlySet<string> = new Set(['enum', 'date-time', 'float', 'double', 'int32', 'int64']);
/** Deepest nesting and most subschemas that are written. */
const maxDepth = 24;
const maxSchemas = 4000;
/** Most that writing things out again may add, in characters of JSON. */
const maxRepeated = 1024 * 1024;
const knownTypes: readonly JsonValue[] = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'];
/** Most keywords that are told. */
const maxDropped = 20;
const shortName = /^[\w$-]{1,40}$/;
/** Anything: Gemini wants a type. */
const anything: JsonObject = { type: 'object' };

/** A schema that Gemini accepts, and the keywords that were left out of it. */
export interface CleanedSchema {
  readonly schema: JsonObject;
  readonly dropped: ReadonlySet<string>;
}

/** Schemas that hold themselves are written out twice, and no further. */
export function cleanSchema(schema: JsonObject): CleanedSchema {
  const cleaner = new SchemaCleaner(schema);
  return { schema: cleaner.clean(schema, 0), dropped: cleaner.dropped };
}

class SchemaCleaner {
  readonly dropped = new Set<string>();
  readonly #references: SchemaReferences;
  #written = 0;
  #room = maxRepeated;

  constructor(root: JsonObject) {
    this.#references = new SchemaReferences(root);
  }

  clean(given: JsonValue | undefined, depth: number): JsonObject {
    this.#written += 1;
    if (!isObject(given)) return anything;
    const reference = textOf(given['$ref']);
    if (reference !== undefined) return this.#follow(given, reference, depth);
    if (depth > maxDepth || this.#written > maxSchemas) {
      this.#drop('properties');
      return anything;
    }
    const schema = this.#joined(given, depth);
    for (const keyword of Object.keys(schema)) if (!handled.has(keyword)) this.#drop(keyword);
    if (isObject(schema['additionalProperties'])) this.#drop('additionalProperties');
    const choices = listOf(schema['anyOf']) ?? listOf(schema['oneOf']);
    return choices === undefined ? this.#typed(schema, depth) : this.#choice(schema, choices, depth);
  }

  #follow(given: JsonObject, reference: string, depth: number): JsonObject {
    const { $ref: _, ...beside } = given;
    const found = this.#spend(this.#references.size(reference)) ? this.#references.enter(reference) : undefined;
    if (found === undefined) {
      this.#drop('$ref');
      const { description } = beside;
      return description === undefined ? anything : { ...anything, description };
    }
    const cleaned = this.clean({ ...found, ...beside }, depth + 1);
    this.#references.leave(reference);
    return cleaned;
  }

  /** All schemas of an `allOf` in one; what stands beside it wins, then what comes first. */
  #joined(schema: JsonObject, depth: number): JsonObject {
    if (listOf(schema['allOf']) === undefined) return schema;
    const members = this.#flattened(schema, depth).toReversed();
    const properties = members.flatMap((member) => Object.entries(objectOf(member['properties']) ?? {}));
    const required = members.flatMap((member) => listOf(member['required']) ?? []);
    return {
      ...Object.fromEntries(members.flatMap((member) => Object.entries(member))),
      ...(properties.length === 0 ? {} : { properties: Object.fromEntries(properties) }),
      ...(required.length === 0 ? {} : { required }),
    };
  }

  #flattened(schema: JsonObject, depth: number): readonly JsonObject[] {
    const { allOf, ...own } = schema;
    if (allOf === undefined) return [own];
    this.#written += 1;
    if (depth > maxDepth || this.#written > maxSchemas) {
      this.#drop('allOf');
      return [own];
    }
    const entries = (listOf(allOf) ?? []).filter(isObject);
    return [own, ...entries.flatMap((entry) => this.#flattened(this.#looked(entry), depth + 1))];
  }

  /** An entry of an `allOf` with what its reference names. */
  #looked({ $ref, ...beside }: JsonObject): JsonObject {
    const reference = textOf($ref);
    if (reference === undefined) return beside;
    const found = this.#spend(this.#references.size(reference)) ? this.#references.find(reference) : undefined;
    if (found === undefined) this.#drop('$ref');
    return { ...found, ...beside };
  }

  /** Names come from the client, and end up in a header. */
  #drop(keyword: string): void {
    if (this.dropped.size < maxDropped) this.dropped.add(shortName.test(keyword) ? keyword : 'unknown');
  }

  #spend(characters: number): boolean {
    if (characters > this.#room) return false;
    this.#room -= characters;
    return true;
  }

  /** Gemini takes nothing beside `anyOf`; `null` among the choices makes them nullable. */
  #choice(schema: JsonObject, choices: readonly JsonValue[], depth: number): JsonObject {
    const { anyOf: _, oneOf: __, ...beside } = schema;
    if (beside['properties'] !== undefined) {
      this.#drop('anyOf');
      return this.#typed(beside, depth);
    }
    const others = choices.filter((choice) => objectOf(choice)?.['type'] !== 'null');
    const nullable = others.length < choices.length || beside['nullable'] === true ? { nullable: true } : {};
    const { title, description } = beside;
    const words = { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) };
    const told = this.#spend(writeJson(words).length * others.length) ? words : {};
    if (others.length === 0) return this.#typed({ ...beside, type: 'null' }, depth);
    const alone = others.length === 1 ? [{ ...beside, ...objectOf(others[0]) }] : undefined;
    const cleaned = (alone ?? others).flatMap((choice) => choicesIn(this.clean(choice, depth + 1)));
    const said = cleaned.map((choice) => ({ ...told, ...choice, ...nullable }));
    return said.length === 1 ? (said[0] ?? anything) : { anyOf: said };
  }

  #typed(schema: JsonObject, depth: number): JsonObject {
    const given = listOf(schema['type']);
    const named = given && [...new Set(given)].filter((type) => knownTypes.includes(type));
    const types = (named ?? []).filter((type) => type !== 'null');
    if (types.length > 1 && this.#spend(writeJson(schema).length * types.length)) {
      const choices = types.map((type) => ({ ...schema, type }));
      return this.#choice(types.length < (named?.length ?? 0) ? { nullable: true } : {}, choices, depth);
    }
    const nullable = named !== undefined && types.length < named.length ? { nullable: true } : {};
    const type = textOf(types[0] ?? schema['type']) ?? impliedType(schema);
    if (type === 'null') return { type: 'string', ...pick(schema), nullable: true };
    return {
      type,
      ...pick(schema),
      ...this.#values(schema, type),
      ...(type === 'object' ? this.#members(schema, depth) : {}),
      ...(type === 'array' ? { items: this.clean(itemsOf(schema), depth + 1) } : {}),
      ...nullable,
    };
  }

  /** Gemini lists texts alone, and none of them empty. */
  #values(schema: JsonObject, type: string): JsonObject {
    const format = textOf(schema['format']);
    const kept = format !== undefined && formats.has(format) ? { format } : {};
    if (format !== undefined && !formats.has(format)) this.#drop('format');
    const given = schema['const'] === undefined ? listOf(schema['enum']) : [schema['const']];
    if (given === undefined) return kept;
    const texts = given.filter((value) => typeof value === 'string' && value !== '');
    if (texts.length < given.filter((value) => value !== null).length) this.#drop('enum');
    return type === 'string' && texts.length > 0 ? { ...kept, enum: texts } : kept;
  }

  #members(schema: JsonObject, depth: number): JsonObject {
    const entries = Object.entries(objectOf(schema['properties']) ?? {});
    if (entries.length === 0) return {};
    const names: ReadonlySet<JsonValue> = new Set(entries.map(([key]) => key));
    const required = (listOf(schema['required']) ?? []).filter((name) => names.has(name));
    return {
      properties: Object.fromEntries(entries.map(([key, value]) => [key, this.clean(value, depth + 1)])),
      ...(required.length === 0 ? {} : { required: [...new Set(required)] }),
    };
  }
}

function pick(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => plain.includes(key)));
}

function impliedType(schema: JsonObject): string {
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array';
  const values = schema['const'] === undefined ? listOf(schema['enum']) : [schema['const']];
  const [value] = values ?? [];
  if (typeof value === 'number') return 'number';
  if (typeof value === 'boolean') return 'boolean';
  return value === undefined ? 'object' : 'string';
}

/** Of a tuple any of its entries. */
function itemsOf(schema: JsonObject): JsonValue | undefined {
  const entries = listOf(schema['prefixItems']) ?? listOf(schema['items']);
  if (entries === undefined) return schema['items'] ?? { type: 'string' };
  return { anyOf: entries };
}

/** The choices of a cleaned schema: those of a choice within a choice are choices as well. */
function choicesIn(schema: JsonObject): readonly JsonObject[] {
  return listOf(schema['anyOf'])?.filter(isObject) ?? [schema];
}
