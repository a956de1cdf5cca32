// The texts of a Messages request, where they stand in its body.
import { leastClaudeBudget } from '../claude/claude-thinking.ts';
import { type BudgetPlace, lowerBudgets } from '../conversation/thinking-budget.ts';
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
import { type JsonValue, textOf } from '../json/json.ts';
import { settingsOfRequest } from '../request-settings.ts';
import type { RequestTexts, Role, SystemPlace } from '../texts.ts';
import { isOwnTool } from '../tools/tool-names.ts';

const usualLengths = ['max_tokens'];
const budgets: readonly BudgetPlace[] = [{ path: ['thinking', 'budget_tokens'], least: leastClaudeBudget }];

/** `lengths`: the members that bound the answer; none where nothing is answered. */
export function requestTexts(body: EditableObject, lengths: readonly string[] = usualLengths): RequestTexts {
  return {
    get texts() {
      return textsIn(body);
    },
    get tools() {
      const own = editableList(body['tools']).map((tool) => textOf(tool['name']) ?? wordIn(tool, 'type'));
      return [...own, ...editableList(body['mcp_servers']).map(() => 'mcp')];
    },
    get maxTokens() {
      // A body without these members needs no cap.
      return lengths.length === 0 ? 0 : largest(body, lengths);
    },
    capTokens: (most) => [...cap(body, lengths, most), ...lowerBudgets(body, budgets, most)],
    say: (place, text) => say(body, place, text),
  };
}

function textsIn(body: EditableObject): TextList['texts'] {
  const list = new RequestedList();
  list.content(body, 'system', { role: 'system' });
  if (Array.isArray(body['system'])) list.others(body['system'] as unknown as EditableObject, { role: 'system' });
  for (const message of editableList(body['messages'])) {
    const role = roleOf(message);
    list.words(message, 'content', { role });
    for (const block of editableList(message['content'])) blockTexts(list, block, role);
    list.others(message, { role });
  }
  list.definitions(body, 'tools', isOwnTool);
  list.rest(body, { role: 'user' }, settingsOfRequest);
  return list.texts;
}

function roleOf({ role }: EditableObject): Role {
  return role === 'assistant' || role === 'system' ? role : 'user';
}

/** Thoughts that are signed stay as they are. What is not read here is read with the message. */
function blockTexts(list: RequestedList, block: EditableObject, role: Role): void {
  switch (block['type']) {
    case 'text':
      list.member(block, 'text', { role });
      break;
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      list.value(block, 'input', { role });
      break;
    case 'thinking':
      if (!textOf(block['signature'])) list.member(block, 'thinking', { role, form: 'reasoning' });
      else for (const key of Object.keys(block)) list.leave(block, key);
      break;
    case 'tool_result':
      list.words(block, 'content', { role: 'tool' });
      for (const part of editableList(block['content'])) blockTexts(list, part, 'tool');
      list.others(block, { role: 'tool' });
      break;
    case 'document':
      documentTexts(list, block, role);
      break;
    default:
  }
}

function documentTexts(list: RequestedList, block: EditableObject, role: Role): void {
  list.member(block, 'title', { role });
  list.member(block, 'context', { role });
  const source = editable(block['source']);
  if (source === undefined) return;
  if (source['type'] === 'text') list.member(source, 'data', { role });
  list.content(source, 'content', { role });
}

function say(body: EditableObject, place: SystemPlace, text: string): boolean {
  const system = body['system'];
  if (place === 'replace' && Array.isArray(body['messages'])) {
    body['messages'] = body['messages'].filter((message) => wordIn(editable(message), 'role') !== 'system');
  }
  if (place === 'replace' || !Array.isArray(system)) {
    body['system'] = joined(place, textOf(system), text);
    return true;
  }
  const block: JsonValue = { type: 'text', text };
  body['system'] = place === 'prepend' ? [block, ...system] : [...system, block];
  return true;
}
