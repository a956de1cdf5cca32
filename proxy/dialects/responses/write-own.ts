// Puts members that the conversation has no word for back to where they stood.
import type { OwnMember } from '../conversation/conversation.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';

type Placed = Pick<OwnMember, 'path' | 'value'>;

/** The body with each member at its path. Lists on the way keep their other entries, and `include` those that stand there. */
export function withMembers(body: JsonObject, members: readonly Placed[]): JsonObject {
  const placed = new Map<string, JsonValue>();
  const inner = new Map<string, Placed[]>();
  for (const { path, value } of members) {
    const [key = '', ...rest] = path;
    if (rest.length === 0) placed.set(key, joined(key, value, body));
    else {
      const within = inner.get(key) ?? [];
      within.push({ path: rest, value });
      inner.set(key, within);
    }
  }
  const nested = [...inner].map(([key, within]): [string, JsonValue] => [key, withNested(body[key], within)]);
  return { ...body, ...Object.fromEntries(nested), ...Object.fromEntries(placed) };
}

function joined(key: string, value: JsonValue, body: JsonObject): JsonValue {
  const before = key === 'include' ? body[key] : undefined;
  return Array.isArray(before) && Array.isArray(value)
    ? [...(value as JsonValue[]), ...(before as JsonValue[])]
    : value;
}

function withNested(before: JsonValue | undefined, members: readonly Placed[]): JsonValue {
  if (!Array.isArray(before)) return withMembers(isObject(before) ? before : {}, members);
  const entries = Object.fromEntries((before as readonly JsonValue[]).entries());
  return Object.values(withMembers(entries, members)) as JsonValue[];
}
