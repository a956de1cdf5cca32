// Finds the subject of a provider's path: one object, all of a family, one to be made, or nothing that belongs to a caller. Paths are
// read as the most lenient server would, because a missed object reaches a provider.
import { type FamilyName, families, freePlaces, modelPlace, modelVerbs, operatorPlaces } from './families.ts';

export type PathObject =
  | { readonly kind: 'none' }
  /** Only the operator may. */
  | { readonly kind: 'operator' }
  | { readonly kind: 'list'; readonly family: FamilyName }
  | { readonly kind: 'create'; readonly family: FamilyName }
  /** `action`: what stands behind the id, in lower case; empty: nothing. */
  | { readonly kind: 'one'; readonly family: FamilyName; readonly id: string; readonly action: string };

/** How often an escape may be escaped. */
const mostEscapes = 4;
const longestPlace = 3;
const nothing: PathObject = { kind: 'none' };
const operator: PathObject = { kind: 'operator' };

const familyAt: ReadonlyMap<string, FamilyName> = new Map(
  (Object.keys(families) as FamilyName[]).flatMap((name) =>
    families[name].places.map((place) => [place, name] as const),
  ),
);

/** `endpoint`: below the base path of the provider, as it is written. */
export function pathObject(method: string, endpoint: string): PathObject {
  const segments = segmentsOf(endpoint);
  const folded = segments.map((segment) => segment.toLowerCase());
  for (let at = 0; at < folded.length; at += 1) {
    for (let length = Math.min(longestPlace, folded.length - at); length > 0; length -= 1) {
      const place = folded.slice(at, at + length).join('/');
      const behind = segments.slice(at + length);
      const found = freePlaces.has(place) ? nothing : about(place, method, behind);
      if (found === undefined) continue;
      if (found.kind !== 'none') return found;
      at += length - 1;
      break;
    }
  }
  return nothing;
}

/** Undefined: it is no place. */
function about(place: string, method: string, behind: readonly string[]): PathObject | undefined {
  if (operatorPlaces.has(place)) return operator;
  if (place === modelPlace) return aboutModel(method, behind);
  // A verb for all objects of a family, such as `files:register`.
  if (familyAt.has(withoutVerb(place)) && !familyAt.has(place)) return operator;
  const family = familyAt.get(place);
  if (family === undefined) return undefined;
  const { actions, isModelCall } = families[family];
  const [id = '', ...further] = behind;
  const isRead = method === 'GET' || method === 'HEAD';
  if (id === '') {
    if (method === 'POST') return { kind: 'create', family };
    if (method === 'OPTIONS') return nothing;
    return isRead || isModelCall ? { kind: 'list', family } : operator;
  }
  const action = method === 'POST' && further.join('') === '' ? actions?.[id.toLowerCase()] : undefined;
  if (action === 'free') return nothing;
  if (action === 'creates') return { kind: 'create', family };
  return { kind: 'one', family, id: withoutVerb(id), action: further.join('/').toLowerCase() };
}

/** A model can be read and asked; what changes one is the operator's. */
function aboutModel(method: string, [name = '']: readonly string[]): PathObject {
  const verb = /:([A-Za-z]+)$/.exec(name)?.[1]?.toLowerCase();
  const family = method === 'POST' && verb !== undefined ? modelVerbs[verb] : undefined;
  if (family !== undefined) return { kind: 'create', family };
  return method === 'DELETE' || method === 'PATCH' || method === 'PUT' ? operator : nothing;
}

/** `abc:cancel` is about `abc`. */
function withoutVerb(id: string): string {
  return id.replace(/:[A-Za-z]+$/, '');
}

/** Decoded, without parameters of a segment, a query that was escaped, blanks around it and empty ones. */
function segmentsOf(endpoint: string): string[] {
  return decoded(endpoint)
    .split(/[/\\]/)
    .map((segment) => (segment.split(/[;?#]/, 1)[0] ?? '').trim())
    .filter((segment) => segment !== '' && segment !== '.');
}

/** Until nothing is escaped any more. */
export function decoded(text: string): string {
  let known = text;
  for (let round = 0; round < mostEscapes && known.includes('%'); round += 1) {
    try {
      known = decodeURIComponent(known);
    } catch {
      // A lone percent sign is itself.
      return known.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    }
  }
  return known;
}
