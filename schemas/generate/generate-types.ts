// Turns the JSON Schemas of the configuration and of admin bodies into schemas/types.ts, so that shape and types cannot drift apart.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compile } from 'json-schema-to-typescript';
import { isTree, type Tree } from '../validation/value-at.ts';
import { bodyNames, entrySchemas, memberName, typeName } from './schema-names.ts';

type Schema = Tree;

const room = join(import.meta.dirname, '..');
const banner =
  '// Generated from schemas/config and schemas/admin by `npm run generate`; a test compares the two. Do not edit.';
/** Schema keywords that do not change a type. */
const dropped = new Set([
  '$schema',
  '$defs',
  'allOf',
  'dependentRequired',
  'examples',
  'maxItems',
  'minItems',
  'propertyNames',
  'x-assembled',
  'x-unit',
]);

/** Answers whose rows pages of the dashboard draw. */
const answersOfPages = ['rate-limits', 'budgets', 'explanation'];

/** The TypeScript of an assembled configuration, of every body that the admin API reads, its defaults filled in, and of some answers. */
export async function generateTypes(): Promise<string> {
  const config = await shapeOf('config', 'config.schema.json');
  const parts = [await typesOf(config, 'Config', banner)];
  parts.push(await typesOf(await shapeOf('policies', 'policies.schema.json'), 'PolicyFile', ''));
  parts.push(await typesOf(await shapeOf('config-tests', 'config-tests.schema.json'), 'ConfigTests', ''));
  for (const name of bodyNames()) {
    const type = typeName(name);
    const body = await shapeOf('admin', `${name}.schema.json`);
    parts.push(await typesOf({ ...withoutTitles(body), title: type }, type, ''));
  }
  for (const name of answersOfPages) {
    const type = `${typeName(name)}Answer`;
    const answer = await shapeOf('admin', `${name}.schema.json`);
    parts.push(await typesOf({ ...withoutTitles(answer), title: type }, type, ''));
  }
  const bodies = bodyNames().map((name) => [memberName(name), typeName(name)] as const);
  const entries = entrySchemas().map(({ name, type }) => [name, type] as const);
  parts.push(tableOf('Bodies', 'The bodies that the admin API reads.', bodies));
  parts.push(tableOf('Entries', 'The entries of the sections that are lists.', entries));
  return parts.join('');
}

function tableOf(name: string, says: string, members: readonly (readonly [name: string, type: string])[]): string {
  const lines = members.map(([member, type]) => `  ${member}: ${type};\n`);
  return `/**\n * ${says}\n */\nexport interface ${name} {\n${lines.join('')}}\n`;
}

function typesOf(shape: Schema, name: string, bannerComment: string): Promise<string> {
  return compile(shape, name, {
    additionalProperties: false,
    bannerComment,
    ignoreMinAndMaxItems: true,
    style: { singleQuote: true, printWidth: 120 },
  });
}

/** The generator makes a type of each title, so two bodies that share a part would declare it twice. */
function withoutTitles(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema, (word, part: unknown) => (word === 'title' ? undefined : part)));
}

/**
 * A schema of `folder` in one piece. A property with a `default` is never missing there, nor is one marked `x-assembled: always`; one
 * marked `never` does not survive assembly, so it has no place in the type.
 */
async function shapeOf(folder: string, root: string): Promise<Schema> {
  const files = new Map<string, Schema>();
  const shapes = new Map<string, Schema>();

  async function open(file: string): Promise<Schema> {
    const known = files.get(file);
    if (known !== undefined) return known;
    const schema: Schema = JSON.parse(await readFile(join(room, folder, file), 'utf8'));
    files.set(file, schema);
    return schema;
  }

  async function follow(reference: string, file: string): Promise<Schema> {
    const [name = '', pointer = ''] = reference.split('#');
    const target = name === '' ? file : name;
    const key = `${target}#${pointer}`;
    const known = shapes.get(key);
    if (known !== undefined) return known;
    let schema = await open(target);
    for (const part of pointer.split('/').slice(1)) schema = schemaOf(schema[part]);
    const shape = await reshape(schema, target);
    shapes.set(key, shape);
    return shape;
  }

  async function reshape(schema: Schema, file: string): Promise<Schema> {
    const reference = schema['$ref'];
    if (typeof reference === 'string') {
      const shape = await follow(reference, file);
      // An object keeps its identity, so that it is declared once; any other shape may get another description where it is used.
      return shape['properties'] === undefined
        ? { ...shape, description: schema['description'] ?? shape['description'] }
        : shape;
    }
    const shape: Schema = {};
    for (const [key, value] of Object.entries(schema)) if (!dropped.has(key)) shape[key] = value;
    if (schema['properties'] === undefined) delete shape['title'];
    else await reshapeProperties(shape, schemaOf(schema['properties']), file);
    for (const key of ['items', 'additionalProperties']) {
      if (typeof shape[key] === 'object') shape[key] = await reshape(schemaOf(shape[key]), file);
    }
    return shape;
  }

  async function reshapeProperties(shape: Schema, properties: Schema, file: string): Promise<void> {
    const required = new Set<unknown>(Array.isArray(shape['required']) ? shape['required'] : []);
    const kept: { [name: string]: Schema } = {};
    for (const [name, value] of Object.entries(properties)) {
      const property = schemaOf(value);
      if (property['x-assembled'] === 'never') continue;
      if (property['default'] !== undefined || property['x-assembled'] === 'always') required.add(name);
      kept[name] = await reshape(property, file);
    }
    shape['properties'] = kept;
    shape['required'] = [...required];
  }

  return reshape(await open(root), root);
}

function schemaOf(value: unknown): Schema {
  if (isTree(value)) return value;
  throw new TypeError(`not a schema: ${JSON.stringify(value)}`);
}

if (import.meta.main) await writeFile(join(room, 'types.ts'), await generateTypes());
