// Members of a message or a part that only chat has, kept beside the part: writers of chat write them again.
import type { Own, Part } from '../conversation/parts.ts';
import { isObject, type JsonObject, type JsonValue, objectOf } from '../json/json.ts';

/** Members of the message that a part stands in, and of the part. Undefined when there are none. */
export function ownOf(message: JsonObject, part: JsonObject): Own | undefined {
  const hasMessage = Object.keys(message).length > 0;
  const hasPart = Object.keys(part).length > 0;
  if (!hasMessage && !hasPart) return undefined;
  const members = { ...(hasMessage ? { message } : {}), ...(hasPart ? { part } : {}) };
  return { dialect: 'chat', members };
}

/** The members of chat's own that a part keeps. */
export function ownMembersOf(part: Part | undefined, of: 'message' | 'part'): JsonObject {
  const own = part === undefined || part.kind === 'foreign' ? undefined : part.own;
  return own?.dialect === 'chat' ? (objectOf(own.members[of]) ?? {}) : {};
}

/** The parts of one message, of which the first that can keeps the members of the message. */
export function withMessageMembers<T extends Part>(parts: readonly T[], message: JsonObject): readonly T[] {
  const at = parts.findIndex(({ kind }) => kind !== 'foreign');
  const keeper = parts[at];
  if (keeper === undefined) return parts;
  const own = ownOf(message, ownMembersOf(keeper, 'part'));
  return own === undefined ? parts : parts.with(at, { ...keeper, own });
}

/** The members of the message that these parts came in. */
export function messageMembersOf(parts: readonly Part[]): JsonObject {
  return ownMembersOf(
    parts.find(({ kind }) => kind !== 'foreign'),
    'message',
  );
}

/** The members of an object that are not among the known ones. */
export function membersBut(object: JsonObject, known: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([key, value]) => !known.includes(key) && value !== null && value !== undefined),
  );
}

/** A body with one more member at a path. Objects on the way are made. */
export function withMember(body: JsonObject, path: readonly string[], value: JsonValue): JsonObject {
  const [key, ...rest] = path;
  if (key === undefined) return body;
  if (rest.length === 0) return { ...body, [key]: value };
  const inner = Object.hasOwn(body, key) ? body[key] : undefined;
  return { ...body, [key]: withMember(isObject(inner) ? inner : {}, rest, value) };
}
