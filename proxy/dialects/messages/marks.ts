// The members that any block may have beside its content: a cache mark, and members that only this dialect knows.
import type { CacheMark, Own } from '../conversation/parts.ts';
import type { JsonObject } from '../json/json.ts';
import { optionalObject, unknownMembers } from '../json/members.ts';

export interface Marks {
  readonly cacheMark?: CacheMark | undefined;
  readonly own?: Own | undefined;
}

/** `known`: the members that are read elsewhere. */
export function marksOf(block: JsonObject, known: ReadonlySet<string>, at: string): Marks {
  const cacheMark = optionalObject(block, 'cache_control', at);
  const further = unknownMembers(block, known);
  return {
    ...(cacheMark === undefined ? {} : { cacheMark }),
    ...(further.length === 0 ? {} : { own: { dialect: 'messages', members: Object.fromEntries(further) } }),
  };
}

/** The block with what the part has beside its content. */
export function withMarks(block: JsonObject, { cacheMark, own }: Marks): JsonObject {
  const members = own?.dialect === 'messages' ? own.members : {};
  return { ...block, ...members, ...(cacheMark === undefined ? {} : { cache_control: cacheMark }) };
}
