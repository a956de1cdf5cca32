// Fills ${VAR} and ${VAR:-default} into the values of a parsed file that may hold a secret; elsewhere a variable is a problem. References to
// secrets that are kept elsewhere stay as written: what they refer to is filled in when the configuration is put in force.
import type { Path } from '../../schemas/validation/path.ts';
import { isTree, type Tree } from '../../schemas/validation/value-at.ts';
import { readReference, type SecretPart } from './secret-reference.ts';

/**
 * The treatment of variables. `error` and `warning` expand them; the text of an unset variable stays as written, and it is an error or a
 * warning. `keep` expands nothing where a variable may stand.
 */
export type VariableMode = 'error' | 'warning' | 'keep';

export interface Expanded {
  value: Tree;
  /** Strings whose final text is unknown, by `pathKey`: rules about their form are not checked. */
  unknown: Set<string>;
  /** Mistakes that do not depend on the values of variables. */
  errors: ExpandProblem[];
  /** Variables that are not set; empty with `keep`. */
  unset: ExpandProblem[];
  /** What the texts with references to secrets are made of, by `pathKey`; their variables are filled in. Empty with `keep`. */
  secrets: Map<string, readonly SecretPart[]>;
}

export interface ExpandProblem {
  path: Path;
  message: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const reference = /\$\$|\$\{([^}]*)(\}?)|\$([A-Za-z_][A-Za-z0-9_]*)/g;
const inside = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^$]*))?$/;

/**
 * The gateway's own secrets: its master key, the addresses of its stores, which hold passwords, the password of sentinels, its token of Vault, and the headers for its collector of
 * traces. Client libraries of PostgreSQL read the names with PG. In any letter case, because names of variables ignore case on some systems.
 */
const ownVariable =
  /^(GATEWAY_.*|REDIS_URL|REDIS_SENTINEL_PASSWORD|DATABASE_URL|PGPASSWORD|PGPASSFILE|VAULT_TOKEN|OTEL_EXPORTER_OTLP_.*)$/i;

/** Whether a variable belongs to the gateway itself, so that the configuration cannot read it. */
export function isOwnVariable(name: string): boolean {
  return ownVariable.test(name);
}

/** The keys of a provider that may hold a variable: their texts are sent upstream and never shown to a client. */
const openKeys: ReadonlySet<unknown> = new Set(['api_key', 'api_keys', 'base_url', 'proxy_url', 'headers']);

/** Whether the value of this key of a provider may hold a variable, and so a secret. */
export function mayHoldVariable(key: string): boolean {
  return openKeys.has(key);
}

/** Whether variables and secrets are filled in at a path: in `openKeys` of a provider, each of its keys and each of its headers, and in a webhook. */
export function isOpen(path: Path): boolean {
  if (path[0] === 'guardrails' && path[2] === 'webhook') {
    const [, , , member] = path;
    return member === 'headers' ? path.length === 5 : (member === 'url' || member === 'secret') && path.length === 4;
  }
  const [section, , key] = path;
  if (section !== 'providers' || !openKeys.has(key)) return false;
  // A list that is written as one text gets its own message from the schema.
  return key === 'headers' ? path.length === 4 : path.length === 3 || (key === 'api_keys' && path.length === 4);
}

/** Whether a value names a variable that the control plane alone reads, when it needs it: it stays as written. */
function isOfControlPlane([section, , part, key]: Path): boolean {
  return section === 'identities' && part === 'sign_in' && key === 'client_secret';
}

/** One text for a path, to look it up in a set. */
export function pathKey(path: Path): string {
  return JSON.stringify(path);
}

/** Whether a text refers to a variable. `$$` means one dollar sign and refers to nothing. */
export function refersToVariable(text: string): boolean {
  return [...text.matchAll(reference)].some(([match]) => match.startsWith('${'));
}

/** The defaults of the variables of a text, with the names of these; those without a default or with an empty one are left out. */
export function defaultsIn(text: string): { name: string; fallback: string }[] {
  return [...text.matchAll(reference)].flatMap(([, content]) => {
    const { name, fallback = '' } = readVariable(content);
    return name === undefined || fallback === '' ? [] : [{ name, fallback }];
  });
}

/**
 * Builds a new tree; keys, numbers and booleans stay unchanged. Errors for every `variables`, so that both planes reject the same
 * files: a variable at another place, one of the gateway's own secrets, and a variable without braces. Messages name variables, never
 * their values.
 */
export function expand(root: Tree, environment: Environment, variables: VariableMode): Expanded {
  const result: Expanded = { value: {}, unknown: new Set(), errors: [], unset: [], secrets: new Map() };
  result.value = walkTree(root, []);
  return result;

  function walk(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return value.includes('$') && !isOfControlPlane(path) ? fill(value, path) : value;
    if (Array.isArray(value)) return value.map((item, index) => walk(item, [...path, index]));
    return isTree(value) ? walkTree(value, path) : value;
  }

  function walkTree(value: Tree, path: Path): Tree {
    const copy: Tree = {};
    for (const [key, item] of Object.entries(value)) {
      const filled = walk(item, [...path, key]);
      Object.defineProperty(copy, key, { value: filled, enumerable: true, configurable: true, writable: true });
    }
    return copy;
  }

  function fill(text: string, path: Path): string {
    const message = problemOf(text, path, environment);
    if (message !== undefined) {
      result.errors.push({ path, message });
      result.unknown.add(pathKey(path));
      return text;
    }
    const isKept = variables === 'keep' && isOpen(path);
    if (isKept && refersToVariable(text)) {
      result.unknown.add(pathKey(path));
      return text;
    }
    const { parts, unset } = partsOf(text, environment);
    for (const name of unset) {
      const says = `the environment variable ${name} is not set; set it, or give a default: \${${name}:-…}`;
      result.unset.push({ path, message: says });
    }
    const isWhole = parts.every((part) => typeof part === 'string');
    if (unset.size === 0 && isWhole) return isKept ? text : parts.map(String).join('');
    result.unknown.add(pathKey(path));
    if (unset.size === 0) result.secrets.set(pathKey(path), parts);
    return text;
  }
}

/** The parts of a text without problems, and the names of its variables that are not set. */
function partsOf(text: string, environment: Environment): { parts: readonly SecretPart[]; unset: ReadonlySet<string> } {
  const unset = new Set<string>();
  const parts: SecretPart[] = [];
  let literal = '';
  let end = 0;
  for (const { 0: match, 1: content = '', index } of text.matchAll(reference)) {
    literal += text.slice(end, index);
    end = index + match.length;
    const found = match === '$$' ? undefined : readReference(content);
    if (found !== undefined && 'reference' in found) {
      parts.push(literal, found.reference);
      literal = '';
    } else literal += match === '$$' ? '$' : filled(match, content);
  }
  return { parts: [...parts, literal + text.slice(end)].filter((part) => part !== ''), unset };

  /** `match`, which is no variable or is not set, stands for itself. */
  function filled(match: string, content: string): string {
    const { name, fallback } = readVariable(content);
    if (name === undefined) return match;
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value === undefined) unset.add(name);
    return value ?? match;
  }
}

/** The problem of a text with a dollar sign that does not depend on the values of its variables. */
function problemOf(text: string, path: Path, environment: Environment): string | undefined {
  for (const [match, content, end, bare] of text.matchAll(reference)) {
    if (match === '$$') continue;
    const name = bare ?? (end === '}' ? readVariable(content).name : undefined);
    if (name !== undefined && ownVariable.test(name)) {
      return `refers to ${name}, which belongs to the gateway itself and may hold a key or a password; the configuration cannot read it`;
    }
    if (!isOpen(path) && (bare === undefined || isVariableAlone(text, bare))) return closed;
    if (isOpen(path) && bare !== undefined) return problemOfBare(text, bare, environment);
    if (name !== undefined) continue;
    const found = end === '}' ? readReference(content ?? '') : undefined;
    if (found === undefined || 'problem' in found) return found?.problem ?? malformed;
  }
  return undefined;
}

const malformed = `has a malformed variable; write $\{NAME} or $\{NAME:-default}, and $$ for a dollar sign`;
const closed =
  'holds a variable, but variables are filled in only in api_key, api_keys, base_url, proxy_url and headers of a provider, and in url, secret and headers of a webhook, because other values may be shown to clients; write the value itself';

/** The text after a dollar sign may be part of a password: the message repeats it only when it is the name of a set variable. */
function problemOfBare(text: string, bare: string, environment: Environment): string {
  const isName = Object.hasOwn(environment, bare) || isVariableAlone(text, bare);
  const meant = isName ? `\${${bare}}` : `$\{NAME}`;
  return `has a $ without braces, which fills in nothing; write ${meant} for a variable, and $$ for a dollar sign`;
}

/** Whether the text is nothing but a dollar sign and a name in upper case, as shells write variables. */
function isVariableAlone(text: string, bare: string): boolean {
  return text === `$${bare}` && /^[A-Z][A-Z0-9_]*$/.test(bare);
}

/** The parts of the text between the braces; without a name it is malformed. */
function readVariable(content: string = ''): { name?: string | undefined; fallback?: string | undefined } {
  const [, name, fallback] = inside.exec(content) ?? [];
  return { name, fallback };
}
