// The names of the schemas that types and validators are generated from.
import { adminOperations } from '../openapi/admin-operations.ts';
import { schemasIn } from '../openapi/body-schemas.ts';

/** The bodies that the admin API reads, by the names of their files. Entries of the configuration are not among them. */
export function bodyNames(): readonly string[] {
  const files = schemasIn('admin');
  return [...new Set(adminOperations.flatMap(({ body = [] }) => body))].filter((name) => files.has(name));
}

/** `rate-limit-write` becomes `RateLimitWrite`. */
export function typeName(name: string): string {
  return name.replace(/(^|-)([a-z])/g, (_, __, letter: string) => letter.toUpperCase());
}

/** `rate-limit-write` becomes `rateLimitWrite`. */
export function memberName(name: string): string {
  const type = typeName(name);
  return type.charAt(0).toLowerCase() + type.slice(1);
}

interface EntrySchema {
  /** Of its definition, and of the validator. */
  readonly name: string;
  readonly type: string;
  readonly reference: string;
}

/** The schemas of the entries of each section that is a list: operators write such entries, too. */
export function entrySchemas(): EntrySchema[] {
  return [...schemasIn('config')].flatMap(([section, { items, $defs = {} }]) => {
    const name = /^#\/\$defs\/(\w+)$/.exec(items?.$ref ?? '')?.[1];
    if (name === undefined) return [];
    const type = ($defs[name]?.title ?? name).replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase());
    return [{ name, type, reference: `${section}.schema.json#/$defs/${name}` }];
  });
}
