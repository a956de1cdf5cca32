// Members of requests that say how they are served, and nothing to a model.
import { type EditableObject, editable, type RequestedList } from './editing.ts';
import type { JsonValue } from './json/json.ts';

/** Names of models, ids of what a provider keeps, and numbers that are drawn. Guardrails leave them as they are. */
export const settingsOfRequest: ReadonlySet<string> = new Set(
  'model models stream logit_bias seed previous_response_id conversation container cache_control'.split(' '),
);

/** The deepest level of a signed member. */
const deepestSign = 8;

/**
 * Leaves signed thoughts below a member unchanged: their provider would refuse others. `depth`: the level of the
 * member, from 0.
 */
export function leaveSigned(list: RequestedList, holder: EditableObject, key: string, depth: number = 0): void {
  const value = holder[key];
  const object = Array.isArray(value) ? (value as unknown as EditableObject) : editable(value);
  if (object === undefined || depth > deepestSign) return;
  if (isSign(object['signature']) || isSign(object['encrypted_content'])) list.leave(holder, key);
  else for (const member of Object.keys(object)) leaveSigned(list, object, member, depth + 1);
}

function isSign(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value !== '';
}
