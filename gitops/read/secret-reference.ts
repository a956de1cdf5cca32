// References to secrets that are kept elsewhere: `${file:/run/secrets/x}`, `${vault:secret/data/openai#api_key}` and the like. Pure.
import { closest } from '../../schemas/validation/suggest.ts';

/** Where a secret is kept. */
export type SecretScheme = keyof typeof forms;

export interface SecretReference {
  readonly scheme: SecretScheme;
  /** A path, or the name of the secret in its vault. */
  readonly name: string;
  /** The member of a secret that is an object; absent: all of it. */
  readonly field?: string;
}

/** A text is made of these in turn: what is written, and what is read elsewhere. */
export type SecretPart = string | SecretReference;

interface Form {
  /** The part before the `#`. */
  readonly name: RegExp;
  /** Whether a member is named behind a `#`. */
  readonly field: 'none' | 'optional' | 'needed';
  readonly expected: string;
  /** Behind the colon. */
  readonly example: string;
}

const segment = '[A-Za-z0-9_.@-]+';

const forms = {
  file: {
    // A secret that is written there by mistake is no path, so it enters no message.
    name: /^\.{0,2}\/[^\p{Cc}]{1,4096}$/u,
    field: 'none',
    expected: 'a path that begins with /, ./ or ../',
    example: '/run/secrets/openai',
  },
  vault: {
    name: new RegExp(`^(?!.*(?:^|/)\\.{1,2}(?:/|$))${segment}(?:/${segment})+$`),
    field: 'needed',
    expected: 'a path of Vault and the name of a value there',
    example: 'secret/data/openai#api_key',
  },
  'aws-sm': {
    name: /^(?:arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:)?[A-Za-z0-9/_+=.@-]{1,512}$/,
    field: 'optional',
    expected: 'the name or ARN of a secret, and of a member if it is an object',
    example: 'prod/openai#api_key',
  },
  'gcp-sm': {
    name: /^projects\/[a-z0-9:.-]+(?:\/locations\/[a-z0-9-]+)?\/secrets\/[A-Za-z0-9_-]{1,255}(?:\/versions\/[A-Za-z0-9_-]+)?$/,
    field: 'optional',
    expected: 'the resource name of a secret',
    example: 'projects/acme/secrets/openai/versions/latest',
  },
  'azure-kv': {
    name: /^[A-Za-z][A-Za-z0-9-]{2,23}\/[A-Za-z0-9-]{1,127}(?:\/[0-9a-f]{32})?$/,
    field: 'optional',
    expected: 'the name of a vault and of a secret there',
    example: 'acme-vault/openai',
  },
} satisfies Record<string, Form>;

const schemes = Object.keys(forms) as SecretScheme[];

/** The text between the braces of a reference that names a place: `scheme:rest`. `NAME:-default` is a variable. */
const placed = /^([a-z][a-z0-9-]*):(?!-)(.*)$/s;

/** The reference between braces; or what is wrong with it, as the end of a sentence that repeats nothing of it. Undefined: it names no place. */
export function readReference(
  content: string,
): { readonly reference: SecretReference } | { readonly problem: string } | undefined {
  const [, word = '', rest = ''] = placed.exec(content) ?? [];
  if (word === '') return undefined;
  const scheme = schemes.find((known) => known === word);
  if (scheme === undefined) {
    const guess = closest(word, schemes);
    const meant = guess === undefined ? '' : `; did you mean \${${guess}:…}?`;
    const known = schemes.join(', ');
    return { problem: `refers to a secret in a place of an unknown kind${meant}; known are ${known}` };
  }
  const { name: shape, field: wants, ...form }: Form = forms[scheme];
  const expected = `${form.expected}, such as \${${scheme}:${form.example}}`;
  if (rest.includes('$')) return { problem: `has one reference in another; write the name itself: ${expected}` };
  if (rest.includes(':-'))
    return { problem: `has a reference with a default, which only variables have; expected ${expected}` };
  const at = wants === 'none' ? -1 : rest.lastIndexOf('#');
  const name = at === -1 ? rest : rest.slice(0, at);
  const field = at === -1 ? undefined : rest.slice(at + 1);
  const isNamed = shape.test(name) && (field === undefined ? wants !== 'needed' : /^[^\p{Cc}]{1,256}$/u.test(field));
  if (!isNamed) return { problem: `has a malformed reference to a secret; expected ${expected}` };
  return { reference: { scheme, name, ...(field === undefined ? {} : { field }) } };
}

/** As it is written, without dollar sign and braces. Equal for the same secret alone. */
export function textOf({ scheme, name, field }: SecretReference): string {
  return `${scheme}:${name}${field === undefined ? '' : `#${field}`}`;
}
