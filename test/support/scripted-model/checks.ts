// What a strict provider checks of the JSON that it gets; whatever breaks a rule is refused with the member's path.

/** The provider does not take the request. */
export class Refused extends Error {
  readonly status: number;

  constructor(message: string, status = 400) {
    super(message);
    this.name = 'Refused';
    this.status = status;
  }
}

export type Members = Readonly<Record<string, unknown>>;

export function must(isRight: boolean, message: string): asserts isRight {
  if (!isRight) throw new Refused(message);
}

/** An object that has no other members than these, named in one text; `required` must be there. */
export function members(value: unknown, path: string, known: string, required = ''): Members {
  const object = anyMembers(value, path);
  const names = new Set([...words(known), ...words(required)]);
  for (const name of Object.keys(object)) must(names.has(name), `${path}: unknown member '${name}'`);
  for (const name of words(required)) must(object[name] !== undefined, `${path}: missing member '${name}'`);
  return object;
}

/** An object with members of any name. */
export function anyMembers(value: unknown, path: string): Members {
  must(typeof value === 'object' && value !== null && !Array.isArray(value), `${path}: must be an object`);
  return value as Members;
}

export function list(value: unknown, path: string): readonly unknown[] {
  must(Array.isArray(value), `${path}: must be a list`);
  return value;
}

/** A list that may be absent. */
export function listIfAny(value: unknown, path: string): readonly unknown[] {
  return value === undefined ? [] : list(value, path);
}

export function text(value: unknown, path: string): string {
  must(typeof value === 'string', `${path}: must be a string`);
  return value;
}

export function filled(value: unknown, path: string): string {
  const given = text(value, path);
  must(given.trim() !== '', `${path}: must not be blank`);
  return given;
}

export function word<W extends string>(value: unknown, path: string, allowed: readonly W[]): W {
  const found = allowed.find((name) => name === value);
  must(found !== undefined, `${path}: must be one of ${allowed.join(', ')}, not ${JSON.stringify(value)}`);
  return found;
}

/** Each of these members, where it is there, is a number; `wholes`: without a fraction, and above 0. */
export function numbers(object: Members, path: string, { any = '', wholes = '' }): void {
  for (const name of words(any)) {
    const value = object[name];
    must(value === undefined || typeof value === 'number', `${path}.${name}: must be a number`);
  }
  for (const name of words(wholes)) {
    const value = object[name];
    must(value === undefined || (Number.isInteger(value) && Number(value) > 0), `${path}.${name}: must be an integer`);
  }
}

export function booleans(object: Members, path: string, names: string): void {
  for (const name of words(names)) {
    const value = object[name];
    must(value === undefined || typeof value === 'boolean', `${path}.${name}: must be a boolean`);
  }
}

/** A name that all providers take for a tool. */
export function toolName(value: unknown, path: string): string {
  const name = text(value, path);
  must(/^[a-zA-Z0-9_-]{1,64}$/.test(name), `${path}: is no name of a tool`);
  return name;
}

/** A schema of an object, as tools and forced answers need it. `isStrict`: it forbids other members, and requires all. */
export function objectSchema(value: unknown, path: string, isStrict: boolean): void {
  const schema = anyMembers(value, path);
  must(schema['type'] === 'object', `${path}.type: must be "object"`);
  if (!isStrict) return;
  must(schema['additionalProperties'] === false, `${path}: 'additionalProperties' must be false`);
  const properties = Object.keys(anyMembers(schema['properties'] ?? {}, `${path}.properties`));
  const required = new Set(listIfAny(schema['required'], `${path}.required`));
  for (const name of properties) must(required.has(name), `${path}.required: must have '${name}'`);
}

/** The JSON object that a text holds. */
export function parsed(value: unknown, path: string): Members {
  try {
    return anyMembers(JSON.parse(text(value, path)), path);
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Refused(`${path}: must be JSON`);
  }
}

/** An image in Base64. */
export function base64(value: unknown, path: string): string {
  const data = text(value, path);
  must(/^[A-Za-z0-9+/]+={0,2}$/.test(data) && data.length % 4 === 0, `${path}: must be Base64`);
  return data;
}

function words(names: string): readonly string[] {
  return names === '' ? [] : names.split(' ');
}
