// Refuses requests of operators in which a secret of the gateway was typed into the wrong place: it would be stored, listed and logged.
import { type Refusal, refusal } from './errors.ts';

/** A shorter secret may be a word, and would only be in the way. Characters. */
const shortestSecret = 12;
/** The value of a managed key. */
const managedKey = /(?<![A-Za-z0-9])sk-gw-[\w-]{32,}/;
/** Between the texts that are looked through together; JSON texts of a request do not hold it as a rule, and no secret does. */
const separator = '\0';

/** The 400 for a body that holds one of the secrets, or a managed key; undefined: it holds none. The secret itself is not said. */
export function secretInBody(body: unknown, secrets: readonly string[]): Refusal | undefined {
  const texts = textsOf(body);
  if (!holdsSecret(texts.map(({ text }) => text).join(separator), secrets)) return undefined;
  const found = texts.find(({ text }) => holdsSecret(text, secrets));
  const where = found?.path === undefined ? 'The name of a member' : `The member ${JSON.stringify(found.path)}`;
  return refusal('secret_in_request', {
    ...(found?.path === undefined ? {} : { param: found.path }),
    fill: { where },
  });
}

/** The refusal for a secret in the path or the query of a request; undefined: there is none. */
export function secretInUrl(url: string, secrets: readonly string[]): Refusal | undefined {
  const isFound = holdsSecret(url, secrets) || holdsSecret(decoded(url), secrets);
  return isFound ? refusal('secret_in_request', { fill: { where: 'The address of the request' } }) : undefined;
}

function holdsSecret(text: string, secrets: readonly string[]): boolean {
  return managedKey.test(text) || secrets.some((secret) => secret.length >= shortestSecret && text.includes(secret));
}

/** Each part by itself: one that is no percent-encoding stays as it is. */
function decoded(url: string): string {
  return url.replace(/(?:%[0-9a-f]{2})+/gi, (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

/** A text of a JSON value with the path of its member; the name of a member has none, because it may be the secret. */
interface Said {
  readonly text: string;
  readonly path: string | undefined;
}

/** Every text and every name in a JSON value, however deep. */
function textsOf(body: unknown): Said[] {
  const said: Said[] = [];
  const waiting: { readonly value: object; readonly path: string }[] = [];
  const take = (value: unknown, path: () => string): void => {
    if (typeof value === 'string') said.push({ text: value, path: path() });
    else if (typeof value === 'object' && value !== null) waiting.push({ value, path: path() });
  };
  take(body, () => '');
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, path } = next;
    if (Array.isArray(value)) {
      for (const [index, entry] of value.entries()) take(entry, () => `${path}[${index}]`);
      continue;
    }
    for (const [name, member] of Object.entries(value)) {
      said.push({ text: name, path: undefined });
      take(member, () => (path === '' ? name : `${path}.${name}`));
    }
  }
  return said;
}
