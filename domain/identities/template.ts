// Templates that make user paths, labels and names of models of claims. What a claim may not be is refused, never repaired.
import {
  type ClaimPath,
  type Claims,
  claimAt,
  claimPathPattern,
  readClaimPath,
  showClaimPath,
} from '../conditions/claim-path.ts';
import { normaliseUserPath } from '../user-path.ts';

/** A claim within a template. */
interface Placeholder {
  readonly claim: ClaimPath;
  /** `{+claim}`: the value is a path, so nothing in it is escaped. */
  readonly isPath: boolean;
  /** `{claim?}`: without the claim there is no text. */
  readonly isOptional: boolean;
}

/** A text with claims in it, taken apart. */
export interface Template {
  readonly parts: readonly (string | Placeholder)[];
  /** The claims, as a person reads them. */
  readonly claims: readonly string[];
}

/** What a template gives for a token, or what is wrong with the token: a sentence without the value of a claim. */
export type Filled<Result> = { readonly made: Result; readonly problem?: undefined } | { readonly problem: string };

const placeholder = new RegExp(String.raw`\{(\+?)(${claimPathPattern})(\??)\}`, 'y');

/** The template of a text; or the mistake in it, as the end of a sentence. */
export function readTemplate(text: string): Filled<Template> {
  const parts: (string | Placeholder)[] = [];
  let at = 0;
  while (at < text.length) {
    const brace = text.slice(at).search(/[{}]/);
    const end = brace === -1 ? text.length : at + brace;
    if (end > at) parts.push(text.slice(at, end));
    if (end === text.length) break;
    placeholder.lastIndex = end;
    const found = placeholder.exec(text);
    if (found === null)
      return {
        problem: `has a mistake at character ${end + 1}: expected a claim in braces, such as {email} or {groups[0]}`,
      };
    const [match, plus, claim = '', mark] = found;
    parts.push({ claim: readClaimPath(claim), isPath: plus === '+', isOptional: mark === '?' });
    at = end + match.length;
  }
  const claims = parts.flatMap((part) => (typeof part === 'string' ? [] : [showClaimPath(part.claim)]));
  return { made: { parts, claims } };
}

/** `readTemplate` of a user path: what stands between the claims must be parts of a valid path. */
export function readPathTemplate(text: string): Filled<Template> {
  const read = readTemplate(text);
  if (read.problem !== undefined) return read;
  const { parts } = read.made;
  if (parts.some((part) => typeof part !== 'string' && part.isOptional))
    return { problem: 'has a claim with a question mark, which is for labels: a user path needs all its claims' };
  const [plain, leading] = ['x', '/x'].map((value) =>
    validPath(parts.map((part) => (typeof part === 'string' ? part : part.isPath ? value : 'x')).join('')),
  );
  if (plain?.problem !== undefined && leading?.problem !== undefined) return plain;
  return read;
}

/** `readTemplate` of a label or a model. */
export function readTextTemplate(text: string): Filled<Template> {
  const read = readTemplate(text);
  if (read.problem === undefined && read.made.parts.some((part) => typeof part !== 'string' && part.isPath))
    return { problem: 'has a claim with a plus sign, which is for user paths' };
  return read;
}

/** The user path of a token. */
export function fillPath({ parts }: Template, claims: Claims): Filled<string> {
  let path = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      path += part;
      continue;
    }
    const { made, problem } = { made: '', ...textOf(part, claims) };
    if (problem !== undefined) return { problem };
    path += part.isPath ? made : escaped(made);
  }
  const isRootOfClaims = path === '/' && !parts.includes('/');
  const valid = isRootOfClaims ? { problem: 'is the root' } : validPath(path);
  if (valid.problem === undefined) return valid;
  const names = parts.flatMap((part) => (typeof part === 'string' ? [] : [showClaimPath(part.claim)]));
  return { problem: `no valid user path can be made of ${names.join(', ')}: it ${valid.problem}` };
}

/** The texts of a template: one, none where an optional claim is absent, or one for each entry of a claim that is a list and stands alone. */
export function fillTexts({ parts }: Template, claims: Claims): Filled<readonly string[]> {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined && typeof only !== 'string') {
    const value = claimAt(claims, only.claim);
    if (Array.isArray(value)) {
      const texts = value.map(plainText);
      if (texts.every((each) => each !== undefined)) return { made: texts };
      return { problem: `the claim ${showClaimPath(only.claim)} holds an entry that is no text` };
    }
  }
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    if (part.isOptional && claimAt(claims, part.claim) === undefined) return { made: [] };
    const { made, problem } = { made: '', ...textOf(part, claims) };
    if (problem !== undefined) return { problem };
    text += made;
  }
  return { made: [text] };
}

/** A path is valid only as it is written: `//a`, ` a` and letters that are not composed are none, although `normaliseUserPath` reads them. */
function validPath(text: string): Filled<string> {
  const { path, problem } = normaliseUserPath(text);
  if (problem !== undefined) return { problem };
  if (path === text) return { made: text };
  return {
    problem:
      'is not written as a user path is: one slash before each segment, none at the end, no blanks at the ends of segments',
  };
}

/** One segment for each value, and another one for another value: `%` itself is escaped, too. */
function escaped(value: string): string {
  return value.replaceAll('%', '%25').replaceAll('/', '%2F').replaceAll(':', '%3A');
}

function textOf({ claim }: Placeholder, claims: Claims): Filled<string> {
  const value = claimAt(claims, claim);
  const name = showClaimPath(claim);
  if (value === undefined) return { problem: `the token has no claim ${name}` };
  const made = plainText(value);
  if (made !== undefined) return { made };
  if (value === '') return { problem: `the claim ${name} is empty` };
  const entry = Array.isArray(value) ? `; one of its entries would be ${name}[0]` : '';
  return { problem: `the claim ${name} is ${kindOf(value)}, not a text or a whole number${entry}` };
}

function plainText(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object'
    ? 'an object'
    : typeof value === 'boolean'
      ? 'true or false'
      : 'a number with a fraction';
}
