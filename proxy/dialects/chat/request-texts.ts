// The texts of a chat request, where they stand in its body.
import { leastClaudeBudget } from '../claude/claude-thinking.ts';
import { type BudgetPlace, lowerBudgets } from '../conversation/thinking-budget.ts';
import {
  cap,
  type EditableObject,
  editable,
  editableList,
  largest,
  RequestedList,
  type TextList,
  wordIn,
} from '../editing.ts';
import { type JsonValue, textOf } from '../json/json.ts';
import { leaveSigned, settingsOfRequest } from '../request-settings.ts';
import type { RequestTexts, Role, SystemPlace } from '../texts.ts';
import { isOwnTool, namesOf, toolNames } from '../tools/tool-names.ts';
import { thoughts } from './known-members.ts';

const roles: ReadonlyMap<string, Role> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
]);
/** Members beside thoughts that may be signed. */
const besideThoughts = ['reasoning_details', 'extra_content', 'thinking_blocks'];
const lengths = ['max_completion_tokens', 'max_tokens'];
/**
 * The members in which clients set the thinking budgets of Claude, of models behind OpenRouter and of Gemini. Tokens.
 */
const budgets: readonly BudgetPlace[] = [
  { path: ['thinking', 'budget_tokens'], least: leastClaudeBudget },
  { path: ['reasoning', 'max_tokens'], least: leastClaudeBudget },
  { path: ['extra_body', 'google', 'thinking_config', 'thinking_budget'], least: 1 },
];

/** The texts, tools and caps (in tokens) of a chat request, to be read and changed in `body`. */
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
    capTokens: (most) => [...cap(body, lengths, most), ...lowerBudgets(body, budgets, most)],
    say: (place, text) => say(body, place, text),
  };
}

function textsIn(body: EditableObject): TextList['texts'] {
  const list = new RequestedList();
  for (const message of editableList(body['messages'])) {
    const role = roles.get(wordIn(message, 'role')) ?? 'user';
    list.content(message, 'content', { role }, ['text', 'refusal']);
    for (const part of editableList(message['content'])) thoughtTexts(list, part, role);
    list.member(message, 'refusal', { role });
    for (const key of thoughts) list.member(message, key, { role, form: 'reasoning' });
    callTexts(list, message, role);
    for (const key of besideThoughts) leaveSigned(list, message, key);
    list.others(message, { role });
  }
  const prediction = editable(body['prediction']);
  if (prediction !== undefined) list.content(prediction, 'content', { role: 'user' });
  for (const key of ['tools', 'functions']) list.definitions(body, key, isOwnTool);
  const format = editable(body['response_format']);
  if (format !== undefined) list.value(format, 'json_schema', { role: 'system' });
  list.rest(body, { role: 'user' }, settingsOfRequest);
  return list.texts;
}

/** Thoughts that are signed stay as they are. */
function thoughtTexts(list: RequestedList, part: EditableObject, role: Role): void {
  if (part['type'] !== 'thinking') return;
  if (textOf(part['signature'])) for (const key of Object.keys(part)) list.leave(part, key);
  else list.others(part, { role, form: 'reasoning' });
}

/** Adds the arguments of a message's tool calls. */
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
