// The types of what a policy asks about. Those of the configuration are read from its schemas, so that a new key can be asked about at once.
import admin from '../../schemas/config/admin.schema.json' with { type: 'json' };
import aliases from '../../schemas/config/aliases.schema.json' with { type: 'json' };
import audit from '../../schemas/config/audit.schema.json' with { type: 'json' };
import budgets from '../../schemas/config/budgets.schema.json' with { type: 'json' };
import cache from '../../schemas/config/cache.schema.json' with { type: 'json' };
import guardrails from '../../schemas/config/guardrails.schema.json' with { type: 'json' };
import identities from '../../schemas/config/identities.schema.json' with { type: 'json' };
import keys from '../../schemas/config/keys.schema.json' with { type: 'json' };
import pricing from '../../schemas/config/pricing.schema.json' with { type: 'json' };
import providers from '../../schemas/config/providers.schema.json' with { type: 'json' };
import rateLimits from '../../schemas/config/rate-limits.schema.json' with { type: 'json' };
import server from '../../schemas/config/server.schema.json' with { type: 'json' };
import tls from '../../schemas/config/tls.schema.json' with { type: 'json' };
import units from '../../schemas/config/units.schema.json' with { type: 'json' };
import usage from '../../schemas/config/usage.schema.json' with { type: 'json' };

/** `time`, `size`, `moment`: a text of the configuration that is compared by what it measures. `any`: of several types. */
export type Type =
  | { readonly is: 'text'; readonly oneOf?: readonly string[] }
  | { readonly is: 'number' | 'flag' | 'any' | 'secret' | Measure }
  | { readonly is: 'list'; readonly of: Type }
  | { readonly is: 'entry'; readonly members: Members };
export type Measure = 'time' | 'size' | 'moment';
export type Members = Readonly<Record<string, Type>>;

export const text: Type = { is: 'text' };
export const number: Type = { is: 'number' };
export const flag: Type = { is: 'flag' };

export function listOf(of: Type): Type {
  return { is: 'list', of };
}

const schemas: Readonly<Record<string, unknown>> = {
  admin,
  aliases,
  audit,
  budgets,
  cache,
  guardrails,
  identities,
  keys,
  pricing,
  providers,
  'rate-limits': rateLimits,
  server,
  tls,
  units,
  usage,
};

/** Names of members that hold a secret, or may: that there is one can be asked, what it is cannot. */
const secrets: ReadonlySet<string> = new Set(
  'api_key api_key_file api_keys api_key_files headers proxy_url hash value_file secret url client_secret client_secret_file'.split(
    ' ',
  ),
);

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly 'x-unit'?: string;
}

/** The members of what a schema describes, such as that of the file `keys` at `#/$defs/key`. */
export function membersIn(file: string, pointer: string): Members {
  const [{ properties = {} }] = follow(`${file}.schema.json${pointer}`, file);
  return membersOf(properties, file);
}

function typeOf(given: Schema, file: string): Type {
  if (given.$ref !== undefined) return typeOf(...follow(given.$ref, file));
  const { type, properties, items } = given;
  const unit = given['x-unit'];
  if (unit !== undefined) return { is: unit === 'size' || unit === 'space' ? 'size' : 'time' };
  if (type === 'array') return listOf(items === undefined ? { is: 'any' } : typeOf(items, file));
  if (type === 'object' && properties !== undefined) return { is: 'entry', members: membersOf(properties, file) };
  if (type === 'string' || (type === undefined && given.enum !== undefined)) {
    if (given.format === 'date-time') return { is: 'moment' };
    return given.enum === undefined ? text : { is: 'text', oneOf: given.enum };
  }
  if (type === 'integer' || type === 'number') return number;
  return type === 'boolean' ? flag : { is: 'any' };
}

function membersOf(properties: Readonly<Record<string, Schema>>, file: string): Members {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]): [string, Type] => {
      const type = typeOf(schema, file);
      const mayBeSecret = type.is === 'text' || type.is === 'list' || type.is === 'any';
      return [name, secrets.has(name) && mayBeSecret ? { is: 'secret' } : type];
    }),
  );
}

function follow(reference: string, from: string): [Schema, string] {
  const [name = '', pointer = ''] = reference.split('#');
  const file = name === '' ? from : name.replace('.schema.json', '');
  let schema = schemas[file];
  for (const step of pointer.split('/').slice(1)) schema = (schema as Readonly<Record<string, unknown>>)[step];
  return [schema as Schema, file];
}

/** The type as the end of a sentence. */
export function sayType(type: Type): string {
  const words = {
    text: 'a text',
    number: 'a number',
    flag: 'true or false',
    any: 'of several types',
    secret: 'a secret',
    time: 'a length of time',
    size: 'a size',
    moment: 'a moment',
    list: 'a list',
    entry: 'a section with members',
  };
  return words[type.is];
}
