// Parts of a provider that all sources have in common: headers without their secrets, timeouts, keys.

import type { ProviderType } from '../../schemas/provider-addresses.ts';
import { type Address, literalAddress, variableAddress } from './address.ts';
import { literal, note, type Work } from './draft.ts';
import type { Piece, TreePiece } from './source.ts';
import { isPlaceholder, referredTo, type Variables } from './variables.ts';

/** What translators of one source share. */
export interface Translator extends Work {
  readonly variables: Variables;
}

/** Headers whose values are known to be no secret. */
const openHeaders =
  /^(openai-(organization|project|beta)|anthropic-(version|beta)|http-referer|referer|x-title|user-agent|accept|accept-language)$/i;
/** Headers that the gateway sets itself. */
const setHere = /^(content-type|content-length|host|connection|accept-encoding|transfer-encoding|x-request-id)$/i;

/** Headers of a mapping; a value that may be a secret becomes a variable. `owner`: begins the names of these. */
export function readHeaders(
  translator: Translator,
  headers: TreePiece | undefined,
  owner: string,
): Record<string, string> {
  if (headers === undefined) return {};
  const { source, variables } = translator;
  const read: Record<string, string> = {};
  for (const name of Object.keys(headers.value)) {
    const piece = source.member(headers, name);
    const value = source.text(headers, name);
    if (piece === undefined || value === undefined) continue;
    const twin = Object.keys(read).find((each) => each.toLowerCase() === name.toLowerCase());
    if (twin !== undefined)
      note(translator, 'lost', piece, { text: 'is the same header as another one, letter case aside' });
    else if (!/^[A-Za-z0-9-]{1,128}$/.test(name) || setHere.test(name)) {
      note(translator, 'lost', piece, { text: 'is set by the gateway itself' });
    } else if (/^authorization$/i.test(name)) {
      note(translator, 'lost', piece, { text: 'is set by the gateway itself: give the provider this key as api_key' });
    } else {
      const reference = variables.referenceOf(value, piece);
      const plain = openHeaders.test(name) && /^[\t\x20-\x7e]*$/.test(value) ? literal(value) : undefined;
      read[name] = reference ?? plain ?? variables.hide(value, `${owner}_${name}`, piece);
    }
  }
  return read;
}

/** A duration of the configuration; undefined: it is none. */
export function duration(milliseconds: number): string | undefined {
  if (!(milliseconds >= 1) || milliseconds > 86_400_000) return undefined;
  const whole = Math.round(milliseconds);
  return whole % 1000 === 0 ? `${whole / 1000}s` : `${whole}ms`;
}

/** The key at a member: a variable, whatever it is. Undefined: there is none, or it says that none is needed. */
export function readKey(translator: Translator, parent: TreePiece, [member, wanted]: readonly [string, string]) {
  const piece = translator.source.member(parent, member);
  const text = piece === undefined ? undefined : translator.source.text(parent, member);
  if (piece === undefined || text === undefined || isPlaceholder(text)) return undefined;
  return translator.variables.referenceOf(text, piece) ?? translator.variables.hide(text, wanted, piece);
}

/** The address that a text means, noting what is left out of it. */
export function readAddress(
  translator: Translator,
  type: ProviderType,
  { piece, text, query = '' }: { readonly piece: Piece; readonly text: string; readonly query?: string },
): Address | undefined {
  const reference = translator.variables.referenceOf(text, piece);
  if (reference !== undefined) return variableAddress(type, reference, query);
  const address = literalAddress(type, text, query);
  if (address === undefined) translator.source.fail(piece, 'is no address that begins with http:// or https://');
  else if (address.removed.length > 0)
    note(translator, 'decide', piece, {
      text: `is an address of which this was left out: ${address.removed.join(', ')}`,
    });
  return address;
}

/** The variable of an implied value: the name that the source's program would read itself. */
export function implied(translator: Translator, name: string, piece: Piece): string {
  return translator.variables.imply(name, piece);
}

/** A part of an address, such as a region: a variable, or a text that can stand in a host and a path; undefined: it cannot. */
export function addressPart(translator: Translator, parent: TreePiece, member: string): string | undefined {
  const piece = translator.source.member(parent, member);
  const text = piece === undefined ? undefined : translator.source.text(parent, member);
  if (piece === undefined || text === undefined) return undefined;
  const name = referredTo(text);
  if (name !== undefined) return translator.variables.refer(name, piece);
  if (/^[A-Za-z0-9._-]{1,100}$/.test(text)) return text;
  translator.source.fail(piece, 'must be a name of letters, digits, dots, underscores and hyphens');
  return undefined;
}

/** cloud.google.com/vertex-ai/generative-ai/docs/learn/locations: the host of `global` has no region. */
export function vertexAddress(project: string, location: string): Address {
  const host = location === 'global' ? 'aiplatform.googleapis.com' : `${location}-aiplatform.googleapis.com`;
  const base_url = `https://${host}/v1/projects/${project}/locations/${location}`;
  return { base_url, host: '', isPrivate: false, removed: [] };
}

/** About keys of Vertex. */
export const tokenOfGoogle =
  'Vertex takes an access token here, which ends after an hour: keep it in a file that something renews, and write api_key_file';
