// The texts of a chat request, where they stand in its body.
import { cap, type EditableObject, editable, editableList, largest, TextList, wordIn } from '../editing.ts';
import type { JsonValue } from '../json.ts';
import type { RequestTexts, Role, SystemPlace } from '../texts.ts';
import { namesOf, toolNames } from '../tool-names.ts';
import { knownOfMessage, thoughts } from './known-members.ts';

const roles: ReadonlyMap<string, Role> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
]);
const knownOfPart: ReadonlySet<string> = new Set(['text', 'refusal']);
const knownOfRequest: ReadonlySet<string> = new Set([...knownOfMessage, 'thinking_blocks']);
const lengths = ['max_completion_tokens', 'max_tokens'];

export function requestTexts(body: EditableObject): RequestTexts {
  return {
    get texts() {
      return textsIn(body);
    },
    get tools() {
      const search = body['web_search_options'] === undefined ? [] : ['web_search_options'];
      return [...toolNames(body['tools']), ...namesOf(...editableList(body['functions'])), ...search];
    },
    get maxTokens() {
      return largest(body, lengths);
    },
    capTokens: (most) => cap(body, lengths, most),
    say: (place, text) => say(body, place, text),
  };
}

function textsIn(body: EditableObject): TextList['texts'] {
  const list = new TextList();
  for (const message of editableList(body['messages'])) {
    const role = roles.get(wordIn(message, 'role')) ?? 'user';
    list.content(message, 'content', { role }, ['text', 'refusal']);
    for (const part of editableList(message['content'])) partTexts(list, part, role);
    const single = editable(message['content']);
    if (single !== undefined) list.others(single, { role });
    list.member(message, 'refusal', { role });
    for (const key of thoughts) list.member(message, key, { role, form: 'reasoning' });
    callTexts(list, message, role);
    if (role === 'user') list.member(message, 'name', { role });
    list.others(message, { role }, knownOfRequest);
  }
  const prediction = editable(body['prediction']);
  if (prediction !== undefined) list.content(prediction, 'content', { role: 'user' });
  return list.texts;
}

/** Thoughts that are signed stay as they are. */
function partTexts(list: TextList, part: EditableObject, role: Role): void {
  const isThought = part['type'] === 'thinking';
  if (isThought && typeof part['signature'] === 'string' && part['signature'] !== '') return;
  list.others(part, isThought ? { role, form: 'reasoning' } : { role }, knownOfPart);
}

/** What a message says to tools. */
export function callTexts(list: TextList, message: EditableObject, role: Role): void {
  for (const call of editableList(message['tool_calls'])) {
    const asked = editable(call['function']);
    const free = editable(call['custom']);
    if (asked !== undefined) list.json(asked, 'arguments', { role });
    if (free !== undefined) list.member(free, 'input', { role, form: 'aside' });
  }
  const older = editable(message['function_call']);
  if (older !== undefined) list.json(older, 'arguments', { role });
}

function say(body: EditableObject, place: SystemPlace, text: string): boolean {
  if (!Array.isArray(body['messages'])) return false;
  const messages = body['messages'] as JsonValue[];
  const isSystem = (message: JsonValue): boolean => roles.get(wordIn(editable(message), 'role')) === 'system';
  const role = editable(messages.find(isSystem))?.['role'] ?? 'system';
  const others = place === 'replace' ? messages.filter((message) => !isSystem(message)) : messages;
  const firstOther = others.findIndex((message) => !isSystem(message));
  const behind = firstOther === -1 ? others.length : firstOther;
  body['messages'] = others.toSpliced(place === 'append' ? behind : 0, 0, { role, content: text });
  return true;
}
