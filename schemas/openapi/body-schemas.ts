// Every JSON Schema of a body, by the name of its file: read from the folders, so that a new file needs no other place. Those of entries of the
// configuration are made of its schemas.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A JSON Schema, as far as the description of the API looks into it. */
export interface Schema {
  readonly $schema?: string;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly additionalProperties?: unknown;
  readonly unevaluatedProperties?: unknown;
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

/** The name of the file of a schema without its ending, such as `rate-limit-write`. */
export type SchemaName = string;

type Sections = ReadonlyMap<SchemaName, Schema>;

const room = join(import.meta.dirname, '..');
const ending = '.schema.json';

/** Words of the schemas of the configuration that other tools do not know, and titles, which would not be unique. */
const dropped: ReadonlySet<string> = new Set(['title', 'x-form', 'x-unit', 'x-assembled']);

/** The schemas of a folder of `schemas/`, in the order of their names. */
export function schemasIn(folder: string): ReadonlyMap<SchemaName, Schema> {
  const files = readdirSync(join(room, folder)).filter((file) => file.endsWith(ending));
  return new Map(
    files.toSorted().map((file) => {
      const schema = JSON.parse(readFileSync(join(room, folder, file), 'utf8')) as Schema;
      return [file.slice(0, -ending.length), schema];
    }),
  );
}

/** The bodies of both APIs. Those of entries of the configuration have no file, unless they differ from what the configuration says. */
export const bodySchemas: ReadonlyMap<SchemaName, Schema> = new Map([
  ...entryBodies(schemasIn('config')),
  ...['admin', 'model-api', 'openapi'].flatMap((folder) => [...schemasIn(folder)]),
]);

/** The name of the schema that a reference in the schema `home` leads to, and of the definition in it. Throws where it leads nowhere. */
export function targetOf(
  reference: string,
  home: SchemaName,
): { readonly name: SchemaName; readonly part?: string; readonly schema: Schema } {
  const match = /^(?:([a-z-]+)\.schema\.json)?(?:#\/\$defs\/([a-z_]+))?$/.exec(reference);
  const name = match?.[1] ?? home;
  const whole = bodySchemas.get(name);
  const part = match?.[2];
  const schema = part === undefined ? whole : whole?.$defs?.[part];
  if (match === null || schema === undefined) throw new Error(`${home} refers to ${reference}, which is not described`);
  return { name, schema, ...(part === undefined ? {} : { part }) };
}

/**
 * The bodies of PUT and of the listing of documents that are named entries of the configuration. By name: `guardrail-write` for an entry
 * `guardrail` of the section `guardrails`, and `guardrails` for the listing.
 */
function* entryBodies(sections: Sections): Generator<readonly [name: string, schema: Schema]> {
  for (const [section, { items, $defs = {} }] of sections) {
    const name = items?.$ref?.slice('#/$defs/'.length) ?? '';
    const entry = $defs[name];
    if (entry?.required?.includes('name') !== true) continue;
    // The admin API has keys in a form of its own.
    if (section === 'keys') continue;
    const { title = name, description } = entry;
    const shape = bodyOf(entry, sections);
    const others = Object.entries($defs).filter(([part]) => part !== name);
    const parts = Object.fromEntries(others.map(([part, schema]) => [part, bodyOf(schema, sections)]));
    const said = `${description} As in the configuration.`;
    yield [`${name}-write`, { ...shape, title: `${title} to set`, description: said, $defs: parts }];
    const { examples: _, additionalProperties: __, allOf = [], ...members } = shape;
    const row = { ...members, allOf: [...allOf, { $ref: 'provenance.schema.json' }], unevaluatedProperties: false };
    yield [
      section,
      {
        title: `${title} listing`,
        description: `The ${section.replaceAll('-', ' ')} of the configuration and of operators.`,
        type: 'object',
        unevaluatedProperties: false,
        allOf: [{ $ref: 'listing.schema.json' }],
        required: [section],
        properties: { [section]: { type: 'array', items: { $ref: '#/$defs/row' } } },
        $defs: { ...parts, row },
      },
    ];
  }
}

/** A schema of the configuration as one of a body: what it refers to in other files stands in it. */
function bodyOf(schema: Schema, sections: Sections): Schema {
  const written = JSON.stringify(schema, (word, part: Schema) => {
    if (dropped.has(word) && typeof part === 'string') return undefined;
    const [, file = '', name = ''] = /^([a-z-]+)\.schema\.json#\/\$defs\/(\w+)$/.exec(part?.$ref ?? '') ?? [];
    const target = sections.get(file)?.$defs?.[name];
    if (target === undefined) return part;
    const { $ref: _, ...own } = part;
    return { ...target, ...own };
  });
  return JSON.parse(written) as Schema;
}
