// Turns the JSON Schemas of bodies into components of the API description, with unique names and internal references.
import { bodySchemas, type SchemaName, targetOf } from './body-schemas.ts';

/** A reference to a component of the description. Throws for a name that no schema has. */
export function referenceTo(name: SchemaName): { readonly $ref: string } {
  if (!bodySchemas.has(name)) throw new Error(`there is no schema ${name}`);
  return { $ref: pointer(name) };
}

/** All components: `rate-limit-write` becomes `RateLimitWrite`, its definition `limit_key` becomes `RateLimitWriteLimitKey`. */
export function schemaComponents(): Record<string, unknown> {
  const components: Record<string, unknown> = {};
  for (const [name, { $schema: _, $defs = {}, ...schema }] of bodySchemas) {
    components[componentName(name)] = rewritten(schema, name);
    for (const [part, definition] of Object.entries($defs)) {
      // Generators name a type after its title, so titles must be unique.
      const title = `${schema.title}: ${part.replaceAll('_', ' ')}`;
      components[componentName(name, part)] = { ...rewritten(definition, name), title };
    }
  }
  return components;
}

function componentName(name: string, part = ''): string {
  return `${name}-${part}`.replace(/(?:^|[-_]+)([a-z]|$)/g, (_, letter: string) => letter.toUpperCase());
}

function pointer(name: string, part = ''): string {
  return `#/components/schemas/${componentName(name, part)}`;
}

/** Our own keywords that say how a mistake is worded; no other tool knows them. */
const wording: ReadonlySet<string> = new Set(['x-form']);

/** The schema with references to files and definitions replaced by references to components, and without words for mistakes. */
function rewritten(node: object, home: string): object {
  const rewrite = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewrite);
    return typeof value === 'object' && value !== null ? rewritten(value, home) : value;
  };
  const kept = Object.entries(node).filter(([key]) => !wording.has(key));
  return Object.fromEntries(
    kept.map(([key, value]: [string, unknown]) => [
      key,
      key === '$ref' && typeof value === 'string' ? moved(value, home) : rewrite(value),
    ]),
  );
}

/** The component of a reference. Throws for a reference in another form or to an unknown schema. */
function moved(reference: string, home: SchemaName): string {
  const { name, part } = targetOf(reference, home);
  return pointer(name, part);
}
