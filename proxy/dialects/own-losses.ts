// Tells the losses of members that only the client's dialect has: of the request, its tools, and its parts.
import type { ConversationRequest, OwnMember } from './conversation/conversation.ts';
import type { Part } from './conversation/parts.ts';
import { isObject, type JsonObject, type JsonValue, listOf, objectOf } from './json/json.ts';
import type { Losses } from './translation.ts';

/** Asked for with `include`: thoughts come with their proofs in any case, where there are any. */
const proofs = 'reasoning.encrypted_content';

/** Members by which a dialect keeps its books: no model is told of them. What is said of sources and roles is told in the target's words. */
const books: ReadonlySet<string> = new Set('id status type object index role source search_result told'.split(' '));
/** Members that switch something off which no other dialect has. */
const switches: ReadonlySet<string> = new Set(['store', 'background', 'stream_options.include_obfuscation']);

/** Tells the members of the request itself. `isSaid`: the target's dialect has this one, too. `because`: why one that matters cannot be told. */
export function tellOwnMembers(
  { ownMembers }: ConversationRequest,
  losses: Losses,
  { because, isSaid = () => false }: { readonly because: string; readonly isSaid?: (member: OwnMember) => boolean },
): void {
  for (const member of ownMembers) {
    const field = member.path.join('.');
    if (isSaid(member) || isNothing(member.value) || (member.value === false && switches.has(field))) continue;
    if (field === 'include' && listOf(member.value)?.every((entry) => entry === proofs) === true) continue;
    if (member.isMeaning) losses.meaning(field, because);
    else losses.hint(field);
  }
}

/** Tells the members of tools and of parts, each name once. */
export function tellOwnParts({ dialect, system, turns, tools }: ConversationRequest, losses: Losses): void {
  const names = new Set<string>();
  const note = (found: readonly string[]): void => {
    for (const name of found) names.add(name);
  };
  const notePart = (part: Part): void => {
    if (part.kind !== 'foreign' && part.own?.dialect === dialect) note(partNames(dialect, part.kind)(part.own.members));
    if (part.kind === 'tool_result') part.content.forEach(notePart);
  };
  for (const tool of tools)
    if (tool.kind === 'function' && tool.own?.dialect === dialect) note(toolNames(dialect)(tool.own.members));
  system.forEach(notePart);
  for (const { parts } of turns) parts.forEach(notePart);
  for (const name of names) losses.hint(name);
}

type Names = (members: JsonObject) => readonly string[];

/** Chat and Responses tell the members of a message from those of its parts. */
function partNames(dialect: ConversationRequest['dialect'], kind: Part['kind']): Names {
  const isItem = kind === 'tool_call' || kind === 'tool_result' || kind === 'reasoning';
  const top = dialect === 'responses' ? 'input' : 'messages';
  if (dialect === 'messages') return (members) => toldIn(members, `${top}.content`);
  if (dialect === 'responses' && isItem) return (members) => toldIn(members, top);
  const inner = kind === 'tool_call' ? '.tool_calls' : isItem ? '' : '.content';
  return ({ message, part }) => [...toldIn(objectOf(message), top), ...toldIn(objectOf(part), top + inner)];
}

function toolNames(dialect: ConversationRequest['dialect']): Names {
  if (dialect !== 'chat') return (members) => toldIn(members, 'tools');
  return ({ tool, function: called }) => [
    ...toldIn(objectOf(tool), 'tools'),
    ...toldIn(objectOf(called), 'tools.function'),
  ];
}

function toldIn(members: JsonObject | undefined, above: string): readonly string[] {
  return Object.entries(members ?? {}).flatMap(([key, value]) =>
    books.has(key) || value === false || isNothing(value) || isDirect(key, value) ? [] : [`${above}.${key}`],
  );
}

/** A call that the model itself made, as is usual. */
function isDirect(key: string, value: JsonValue | undefined): boolean {
  return key === 'caller' && objectOf(value)?.['type'] === 'direct';
}

/** Whether a value says nothing: it is empty, or holds nothing but such values. */
function isNothing(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.values(value).every((member) => member === false || isNothing(member));
}
