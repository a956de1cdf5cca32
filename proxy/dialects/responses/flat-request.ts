// A request in the Responses format as other dialects know it: its tools in one list of functions, and the items that only this format has as
// calls with their results, or as texts.
import type { ConversationRequest, ToolChoice, Turn } from '../conversation/conversation.ts';
import type { ForeignPart, ImagePart, Part, TextPart, ToolCallPart } from '../conversation/parts.ts';
import { objectOf, textOf, writeJson } from '../json/json.ts';
import { readClientCall } from './client-tools.ts';
import { type FlatTools, flatTools, type LaterTools, namespaceOf } from './flat-tools.ts';
import { itemText, resultItem, resultOf } from './item-words.ts';
import { foreignContentOf } from './own-marks.ts';

/**
 * The request without namespaces and own items; the same object when there is nothing to change. Throws an
 * InvalidRequest.
 */
export function flatRequest(request: ConversationRequest): ConversationRequest {
  const items = request.turns.flatMap(({ parts }) => parts.filter(isItem));
  const hasOwnTools = request.tools.some(({ kind }) => kind === 'foreign');
  if (items.length === 0 && !hasOwnTools && !request.turns.some(({ parts }) => parts.some(isNamespaced)))
    return request;
  const tools = flatTools(request, items.flatMap(laterTools));
  const turns = flatTurns(request.turns, new Pairs(request.turns, items), tools);
  return { ...request, ...withChoice(request, tools), ...hoisted(request.system, turns), tools: tools.tools };
}

/** An item that only this format has. */
function isItem(part: Part): part is ForeignPart {
  return part.kind === 'foreign' && part.dialect === 'responses' && foreignContentOf(part) === undefined;
}

function isNamespaced(part: Part): boolean {
  return part.kind === 'tool_call' && namespaceOf(ownOf(part)) !== undefined;
}

function ownOf({ own }: ToolCallPart): NonNullable<ToolCallPart['own']>['members'] | undefined {
  return own?.dialect === 'responses' ? own.members : undefined;
}

function laterTools({ name, value, place = 'input' }: ForeignPart): readonly LaterTools[] {
  return name === 'additional_tools' || name === 'tool_search_output' ? [{ value, place }] : [];
}

/** The choice of a tool by the name that it has among all. */
function withChoice(
  { toolChoice, ownMembers }: ConversationRequest,
  { tools, nameOf }: FlatTools,
): Pick<ConversationRequest, 'toolChoice' | 'ownMembers'> {
  const isKnown = (name: string): boolean => tools.some((tool) => tool.kind !== 'foreign' && tool.name === name);
  const chosen = (name: string): ToolChoice => ({ kind: 'tool', name });
  if (toolChoice?.kind === 'tool' && toolChoice.namespace !== undefined) {
    return { toolChoice: chosen(nameOf({ namespace: toolChoice.namespace, name: toolChoice.name })), ownMembers };
  }
  const named = objectOf(ownMembers.find(({ path }) => path.length === 1 && path[0] === 'tool_choice')?.value);
  const name = nameOf({ item: `${textOf(named?.['type'])}_call` });
  if (named === undefined || toolChoice !== undefined || !isKnown(name)) return { toolChoice, ownMembers };
  return { toolChoice: chosen(name), ownMembers: ownMembers.filter(({ path }) => path[0] !== 'tool_choice') };
}

/** Which calls have results, and which results have calls. */
class Pairs {
  readonly #calls = new Set<string>();
  readonly #results = new Set<string>();
  /** Results of older clients name the item of the call. */
  readonly #callOfItem = new Map<string, string>();

  constructor(turns: readonly Turn[], items: readonly ForeignPart[]) {
    for (const part of turns.flatMap(({ parts }) => parts)) {
      if (part.kind === 'tool_call') this.#calls.add(part.id);
      else if (part.kind === 'tool_result') this.#results.add(part.callId);
    }
    for (const { name, value } of items) {
      const id = textOf(value['call_id']);
      if (isResult(name)) continue;
      const item = textOf(value['id']);
      if (id !== undefined && item !== undefined) this.#callOfItem.set(item, id);
      if ((id ?? item) !== undefined && isCall(name)) this.#calls.add(id ?? item ?? '');
    }
    for (const item of items) {
      if (isResult(item.name)) this.#results.add(this.callId(item) ?? '');
    }
  }

  callId({ value }: ForeignPart): string | undefined {
    const item = textOf(value['id']);
    return textOf(value['call_id']) ?? (item === undefined ? undefined : (this.#callOfItem.get(item) ?? item));
  }

  /** The call, or the result, has its other half. */
  isWhole(id: string | undefined): id is string {
    return id !== undefined && this.#calls.has(id) && this.#results.has(id);
  }
}

function isCall(type: string): boolean {
  return type.endsWith('_call') || type === 'program';
}

function isResult(type: string): boolean {
  return type.endsWith('_output');
}

/** Items whose tools are in the list of tools, and which say nothing else. */
function saysNothing({ name, value }: ForeignPart): boolean {
  if (name === 'additional_tools') return true;
  return name.startsWith('tool_search_') && (value['call_id'] ?? null) === null;
}

function flatTurns(turns: readonly Turn[], pairs: Pairs, tools: FlatTools): readonly Turn[] {
  const flat: { role: Turn['role']; parts: Part[]; name?: string | undefined }[] = [];
  let pictures: ImagePart[] = [];
  for (const { role, parts, name } of turns) {
    const told: Part[] = [];
    for (const part of parts) {
      const picture = isItem(part) ? pictureOf(part) : undefined;
      if (picture !== undefined) pictures.push(picture);
      for (const each of flatPart(part, pairs, tools)) told.push(each);
    }
    const last = flat.at(-1);
    if (told.length === 0 && parts.length > 0) continue;
    // An image that the model made is shown to it in the next message of the user.
    if (role === 'user' && !isResults(told)) {
      told.unshift(...pictures);
      pictures = [];
    }
    const continues = last?.role === role && (role === 'assistant' || (isResults(last.parts) && isResults(told)));
    if (continues && last !== undefined) for (const part of told) last.parts.push(part);
    else flat.push({ role, parts: told, ...(name === undefined ? {} : { name }) });
  }
  return pictures.length === 0 ? flat : [...flat, { role: 'user', parts: pictures }];
}

function isResults(parts: readonly Part[]): boolean {
  return parts.length > 0 && parts.every(({ kind }) => kind === 'tool_result');
}

function pictureOf({ name, value }: ForeignPart): ImagePart | undefined {
  const data = name === 'image_generation_call' ? textOf(value['result']) : undefined;
  if (data === undefined) return undefined;
  const format = textOf(value['output_format']) ?? 'png';
  return { kind: 'image', source: { kind: 'base64', mediaType: `image/${format}`, data } };
}

function flatPart(part: Part, pairs: Pairs, tools: FlatTools): readonly Part[] {
  if (part.kind === 'tool_call') return [flatCall(part, tools)];
  if (!isItem(part)) return [part];
  if (saysNothing(part)) return [];
  const { name, value } = part;
  const id = pairs.callId(part);
  if (isCall(name) && pairs.isWhole(id)) {
    const call = readClientCall(value);
    const item = call === undefined ? undefined : name;
    const input = call?.input ?? resultItem(value);
    const called = item === undefined ? name.replace(/_call$/, '') : tools.nameOf({ item });
    return [{ kind: 'tool_call', id, name: called, input: writeJson(input), isFreeText: false }];
  }
  if (isResult(name) && pairs.isWhole(id)) return [resultOf(part, id, tools.tools)];
  const words = itemText(part);
  return words === undefined ? [part] : [{ kind: 'text', text: words } satisfies TextPart];
}

/** The namespace of a call is told in its name. */
function flatCall(call: ToolCallPart, { nameOf }: FlatTools): ToolCallPart {
  const members = ownOf(call);
  const namespace = namespaceOf(members);
  if (namespace === undefined || members === undefined) return call;
  const { namespace: _, ...rest } = members;
  return { ...call, name: nameOf({ namespace, name: call.name }), own: { dialect: 'responses', members: rest } };
}

/** Instructions that stood behind an item with tools stand first again. */
function hoisted(
  system: ConversationRequest['system'],
  turns: readonly Turn[],
): Pick<ConversationRequest, 'system' | 'turns'> {
  const first = turns.findIndex(({ role, parts }) => role !== 'system' || parts.some(({ kind }) => kind !== 'text'));
  const count = first === -1 ? turns.length : first;
  const leading = turns.slice(0, count).flatMap(({ parts }) => parts.filter((part) => part.kind === 'text'));
  return { system: [...system, ...leading], turns: turns.slice(count) };
}
