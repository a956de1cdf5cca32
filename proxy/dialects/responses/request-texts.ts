// The texts of a Responses request, where they stand in its body.
import {
  cap,
  type EditableObject,
  editable,
  editableList,
  joined,
  largest,
  RequestedList,
  type TextList,
  wordIn,
} from '../editing.ts';
import { textOf } from '../json/json.ts';
import { leaveSigned, settingsOfRequest } from '../request-settings.ts';
import type { RequestTexts, Role } from '../texts.ts';
import { isOwnTool, toolNames } from '../tools/tool-names.ts';

const usualLengths = ['max_output_tokens'];

/** `lengths`: the members that bound the answer. */
export function requestTexts(body: EditableObject, lengths: readonly string[] = usualLengths): RequestTexts {
  return {
    get texts() {
      return textsIn(body);
    },
    get tools() {
      return toolNames(body['tools']);
    },
    get maxTokens() {
      return largest(body, lengths);
    },
    capTokens: (most) => cap(body, lengths, most),
    say(place, text) {
      body['instructions'] = joined(place, textOf(body['instructions']), text);
      if (place === 'replace' && Array.isArray(body['input'])) {
        body['input'] = body['input'].filter((item) => roleOf(editable(item)?.['role']) !== 'system');
      }
      return true;
    },
  };
}

function roleOf(role: unknown): Role {
  if (role === 'system' || role === 'developer') return 'system';
  return role === 'assistant' ? 'assistant' : 'user';
}

function textsIn(body: EditableObject): TextList['texts'] {
  const list = new RequestedList();
  list.member(body, 'instructions', { role: 'system' });
  const variables = editable(editable(body['prompt'])?.['variables']);
  for (const [name, value] of Object.entries(variables ?? {})) {
    if (variables !== undefined) list.member(variables, name, { role: 'user' });
    const part = editable(value);
    if (part !== undefined) list.member(part, 'text', { role: 'user' });
  }
  list.words(body, 'input', { role: 'user' });
  const items = Array.isArray(body['input']) ? (body['input'] as unknown as EditableObject) : {};
  for (const index of Object.keys(items)) itemOf(list, items, index);
  list.definitions(body, 'tools', isOwnTool);
  const format = editable(editable(body['text'])?.['format']);
  if (format !== undefined) list.value(format, 'schema', { role: 'system' });
  const reasoning = editable(body['reasoning']);
  for (const key of ['summary', 'generate_summary']) if (isOneWord(reasoning?.[key])) list.leave(reasoning ?? {}, key);
  list.rest(body, { role: 'user' }, settingsOfRequest);
  return list.texts;
}

function isOneWord(value: unknown): boolean {
  return typeof value === 'string' && /^\w{0,32}$/.test(value);
}

/** All of an item. */
function itemOf(list: RequestedList, items: EditableObject, index: string): void {
  const item = editable(items[index]);
  if (item === undefined) return;
  const type = wordIn(item, 'type');
  if (type === 'reasoning') leaveSigned(list, items, index);
  itemTexts(list, item);
  if (type === 'reasoning') return;
  const isMessage = type === 'message' || type === '';
  list.others(item, { role: isMessage ? roleOf(item['role']) : tellerOf(type) });
}

/** Of a part of a message. */
export const knownOfPart: ReadonlySet<string> = new Set(['text', 'refusal']);
const knownOfCall: ReadonlySet<string> = new Set(['arguments', 'input', 'output']);

/** Who says an item that is no message. */
function tellerOf(type: string): Role {
  if (type.endsWith('_output')) return 'tool';
  return type.endsWith('_call') ? 'assistant' : 'user';
}

/** The texts of one item, of a request or of an answer. Thoughts of former answers that are signed stay as they are. */
export function itemTexts(list: TextList, item: EditableObject): void {
  const role = 'assistant';
  switch (item['type'] ?? 'message') {
    case 'message':
      list.content(item, 'content', { role: roleOf(item['role']) }, ['text', 'refusal']);
      for (const part of editableList(item['content'])) list.others(part, { role: roleOf(item['role']) }, knownOfPart);
      break;
    case 'reasoning':
      if (!textOf(item['encrypted_content'])) list.others(item, { role, form: 'reasoning' });
      break;
    default: {
      const teller = tellerOf(wordIn(item, 'type'));
      list.json(item, 'arguments', { role: teller });
      list.member(item, 'input', { role: teller, form: 'aside' });
      list.value(item, 'input', { role: teller });
      resultTexts(list, item);
      list.others(item, { role: teller }, knownOfCall);
    }
  }
}

/** A text, a list of parts, or whatever else a tool gave, which is told as its JSON. */
export function resultTexts(list: TextList, item: EditableObject): void {
  const parts = editableList(item['output']);
  const isContent = Array.isArray(item['output']) && parts.length === item['output'].length;
  if (isContent && parts.every(({ type }) => typeof type === 'string')) {
    list.content(item, 'output', { role: 'tool' }, ['text', 'refusal']);
    for (const part of parts) list.others(part, { role: 'tool' }, knownOfPart);
  } else {
    const part = editable(item['output']);
    list.member(item, 'output', { role: 'tool' });
    // A picture of a screen is no JSON that a tool gave.
    if (typeof part?.['type'] === 'string') list.others(part, { role: 'tool' });
    else list.value(item, 'output', { role: 'tool' });
  }
}
