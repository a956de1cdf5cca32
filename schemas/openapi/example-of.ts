// The example of a body: the one that its schema has, else one made of the examples of its members.
import { bodySchemas, type Schema, type SchemaName, targetOf } from './body-schemas.ts';

/** The moment of all examples. */
const moment = '2026-03-01T21:04:20.512Z';

/** The example of a schema by its name. Throws for a schema without one. */
export function exampleOf(name: SchemaName): unknown {
  return exampleIn(bodySchemas.get(name) ?? {}, name);
}

/** `home`: the schema that local references refer to. */
function exampleIn(schema: Schema, home: SchemaName): unknown {
  const { examples, $ref, properties, allOf = [], oneOf, items } = schema;
  if (examples !== undefined) return examples[0];
  if ($ref !== undefined) {
    const target = targetOf($ref, home);
    return exampleIn(target.schema, target.name);
  }
  if ('const' in schema) return schema.const;
  if (oneOf?.[0] !== undefined) return exampleIn(oneOf[0], home);
  if (items !== undefined) return [exampleIn(items, home)];
  if (properties !== undefined) {
    const shared = allOf.filter((part) => part.$ref !== undefined).map((part) => exampleIn(part, home));
    return Object.assign({}, exampleOfMembers(schema, home), ...shared) as unknown;
  }
  if (schema.format === 'date-time') return moment;
  throw new Error(`${home} has no example of ${JSON.stringify(schema)}`);
}

/** With the members that are required, and those that have an example. */
function exampleOfMembers({ properties = {}, required = [] }: Schema, home: SchemaName): object {
  const shown = Object.entries(properties).filter(
    ([name, member]) => required.includes(name) || hasExample(member, home),
  );
  return Object.fromEntries(shown.map(([name, member]) => [name, exampleIn(member, home)]));
}

function hasExample({ examples, $ref, items }: Schema, home: SchemaName): boolean {
  if (examples !== undefined) return true;
  if (items !== undefined) return hasExample(items, home);
  if ($ref === undefined) return false;
  const { schema, name } = targetOf($ref, home);
  return hasExample(schema, name);
}
