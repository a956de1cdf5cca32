// The input of a tool as every server takes it: an object with its members. Several refuse a schema without a type, and unions at its top.
import type { FunctionTool } from '../conversation/conversation.ts';
import { isObject, type JsonObject, type JsonValue, listOf, textOf, writeJson } from '../json/json.ts';
import { SchemaReferences } from './schema-references.ts';

const noInput: JsonObject = { type: 'object', properties: {} };
/** Keywords that may not stand at the top of a schema. */
const unions = ['anyOf', 'oneOf', 'allOf', 'enum', 'not', '$ref'];
/** Those of them that the members which they have in common cannot say. */
const untold = ['anyOf', 'oneOf', 'enum', 'not'];
/** Deepest nesting and most branches of unions that are looked at. */
const maxDepth = 8;
const maxBranches = 1000;
/** Most that is read of what references name, characters of JSON. */
const maxReferred = 1024 * 1024;

/**
 * The tool with an object at the top of its input: the members of unions stand beside one another, and what the union says beyond that is told in
 * the description. The same tool where there is nothing to change; undefined where the input is something else than an object.
 */
export function withObjectInput(tool: FunctionTool): FunctionTool | undefined {
  const { parameters, description } = tool;
  if (parameters === undefined) return { ...tool, parameters: noInput };
  const type = typeOf(parameters);
  if (type !== 'object') return undefined;
  const hasUnion = unions.some((keyword) => parameters[keyword] !== undefined);
  if (!hasUnion) return parameters['type'] === 'object' ? tool : { ...tool, parameters: { ...parameters, type } };
  const told = Object.fromEntries(Object.entries(parameters).filter(([keyword]) => untold.includes(keyword)));
  const words = Object.keys(told).length === 0 ? [] : [`The input matches this JSON Schema, too: ${writeJson(told)}`];
  const all = [...(description ? [description] : []), ...words];
  return { ...tool, ...(all.length === 0 ? {} : { description: all.join('\n\n') }), parameters: joined(parameters) };
}

/**
 * Whether OpenAI takes a schema as a strict one: objects name all that they may have, and require it
 * (platform.openai.com/docs/guides/structured-outputs, "Supported schemas"). Anthropic wants less.
 */
export function isWhollyStrict(schema: JsonValue | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isWhollyStrict);
  if (!isObject(schema)) return true;
  const { properties, required, additionalProperties } = schema;
  const isClosed =
    !isObject(properties) ||
    (additionalProperties === false &&
      Object.keys(properties).every((name) => listOf(required)?.includes(name) === true));
  return isClosed && Object.values(schema).every(isWhollyStrict);
}

/** A schema that names no type is one of objects. */
function typeOf({ type = 'object' }: JsonObject): JsonValue {
  return listOf(type)?.includes('object') === true ? 'object' : type;
}

function joined(root: JsonObject): JsonObject {
  const { members, required } = new MemberFinder(root).find(root, 0);
  const others = Object.entries(root).filter(([keyword]) => !unions.includes(keyword));
  const properties = [...members].map(([name, schemas]) => [name, eitherOf([...schemas.values()])]);
  return {
    ...Object.fromEntries(others),
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.size === 0 ? {} : { required: [...required] }),
  };
}

function eitherOf(schemas: readonly JsonValue[]): JsonValue {
  const [first = {}, ...others] = schemas;
  return others.length === 0 ? first : { anyOf: schemas };
}

interface Members {
  /** By the name of the member: the schemas that branches give it, by their JSON. */
  readonly members: ReadonlyMap<string, ReadonlyMap<string, JsonValue>>;
  readonly required: ReadonlySet<string>;
}

const none: Members = { members: new Map(), required: new Set() };

/** Collects the members of a schema and of its unions. */
class MemberFinder {
  readonly #references: SchemaReferences;
  #branches = 0;
  #room = maxReferred;

  constructor(root: JsonObject) {
    this.#references = new SchemaReferences(root);
  }

  find(schema: JsonValue, depth: number): Members {
    this.#branches += 1;
    if (!isObject(schema) || depth > maxDepth || this.#branches > maxBranches) return none;
    const named = this.#named(textOf(schema['$ref']));
    const all = [...(listOf(schema['allOf']) ?? []), ...(named === undefined ? [] : [named])];
    const found = [ownOf(schema), ...all.map((entry) => this.find(entry, depth + 1))];
    for (const keyword of ['anyOf', 'oneOf']) {
      const branches = (listOf(schema[keyword]) ?? []).map((branch) => this.find(branch, depth + 1));
      if (branches.length > 0) found.push(anyOf(branches));
    }
    return { members: together(found), required: new Set(found.flatMap(({ required }) => [...required])) };
  }

  #named(reference: string | undefined): JsonObject | undefined {
    if (reference === undefined) return undefined;
    this.#room -= this.#references.size(reference);
    return this.#room < 0 ? undefined : this.#references.find(reference);
  }
}

function ownOf({ properties, required }: JsonObject): Members {
  const entries = Object.entries(isObject(properties) ? properties : {});
  const names = (listOf(required) ?? []).filter((name) => typeof name === 'string');
  const members = new Map(entries.map(([name, value = {}]) => [name, new Map([[writeJson(value), value]])]));
  return { members, required: new Set(names) };
}

/** A member is required when all branches require it. */
function anyOf(branches: readonly Members[]): Members {
  const [first = none, ...others] = branches;
  const required = [...first.required].filter((name) => others.every((other) => other.required.has(name)));
  return { members: together(branches), required: new Set(required) };
}

function together(found: readonly Members[]): Members['members'] {
  const members = new Map<string, Map<string, JsonValue>>();
  for (const each of found) {
    for (const [name, schemas] of each.members) {
      const known = members.get(name) ?? new Map<string, JsonValue>();
      for (const [text, schema] of schemas) known.set(text, schema);
      members.set(name, known);
    }
  }
  return members;
}
