// Members of items and parts that only the Responses format has, kept beside the parts so that they can be written again.
import type { ForeignPart, Own, Part } from '../conversation/parts.ts';
import { type JsonObject, objectOf } from '../json/json.ts';
import { unknownMembers } from '../json/members.ts';

/** A part of a message that the conversation does not know is foreign, and its name begins so. Other foreign parts are whole items. */
const foreignContent = 'message.';

interface ForeignBeside {
  readonly message?: JsonObject | undefined;
  readonly place?: string | undefined;
}

/** The part of a message as a foreign one. `message`: members of the message that begins with this part. */
export function foreignPart(type: string, part: JsonObject, beside: ForeignBeside = {}): ForeignPart {
  const { message, place } = beside;
  const value = message === undefined ? { part } : { part, message };
  const name = `${foreignContent}${type}`;
  return { kind: 'foreign', dialect: 'responses', name, value, ...(place === undefined ? {} : { place }) };
}

/** The part of a message inside a foreign part; undefined for an item, or another dialect's part. */
export function foreignContentOf({ dialect, name, value }: ForeignPart): JsonObject | undefined {
  return dialect === 'responses' && name.startsWith(foreignContent) ? objectOf(value['part']) : undefined;
}

/** The members that are not among the known ones. */
export function restOf(value: JsonObject, known: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(unknownMembers(value, known));
}

/** Of an item that is one part: its further members, such as its id. */
export function itemMark(rest: JsonObject): Own {
  return { dialect: 'responses', members: rest };
}

/** Of a part of a message. `message`: members of the message that begins with this part. */
export function partMark(rest: JsonObject, message: JsonObject | undefined): { readonly own?: Own } {
  const isEmpty = Object.keys(rest).length === 0;
  if (isEmpty && message === undefined) return {};
  const members = { ...(isEmpty ? {} : { part: rest }), ...(message === undefined ? {} : { message }) };
  return { own: { dialect: 'responses', members } };
}

/** The mark of this dialect; undefined where there is none. */
export function markOf(part: Part): JsonObject | undefined {
  if (part.kind === 'foreign') return foreignContentOf(part) === undefined ? undefined : part.value;
  return part.own?.dialect === 'responses' ? part.own.members : undefined;
}

/** Further members of a part of a message. */
export function partRest(part: Exclude<Part, ForeignPart>): JsonObject {
  return objectOf(markOf(part)?.['part']) ?? {};
}

/** The members of the message that begins with this part; undefined: none does. */
export function messageRest(part: Part): JsonObject | undefined {
  return objectOf(markOf(part)?.['message']);
}
