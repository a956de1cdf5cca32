// Every JSON Schema of a body, by the name of its file: read from the folders, so that a new file needs no other place.
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

const room = join(import.meta.dirname, '..');
const ending = '.schema.json';

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

/** The bodies of both APIs. */
export const bodySchemas: ReadonlyMap<SchemaName, Schema> = new Map(
  ['admin', 'model-api', 'openapi'].flatMap((folder) => [...schemasIn(folder)]),
);

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
