// The texts of a chat answer, and of a text completion, where they stand in its body.
import { type EditableObject, editable, editableList, TextList } from '../editing.ts';
import type { AnswerTexts } from '../texts.ts';
import { knownOfAnswer, knownOfMessage, thoughts } from './known-members.ts';
import { callTexts } from './request-texts.ts';

/** The texts of an answer. A changed text loses its log probabilities. */
export function answerTexts(body: EditableObject): AnswerTexts {
  const list = new TextList();
  for (const choice of editableList(body['choices'])) {
    const changed = (): void => {
      if (choice['logprobs'] !== undefined) choice['logprobs'] = null;
    };
    list.member(choice, 'text', { role: 'assistant', changed });
    const message = editable(choice['message']);
    if (message !== undefined) messageTexts(list, message, changed);
  }
  list.others(body, { role: 'assistant' }, knownOfAnswer);
  return list;
}

const knownOfPart: ReadonlySet<string> = new Set(['text', 'refusal', 'thinking']);

/** The texts of one message. Thoughts may be told twice: in words, and with what signs them. */
export function messageTexts(list: TextList, message: EditableObject, changed: () => void): void {
  const role = 'assistant';
  for (const key of thoughts) list.member(message, key, { role, form: 'reasoning' });
  for (const detail of editableList(message['reasoning_details']))
    for (const key of ['text', 'summary']) list.member(detail, key, { role, form: 'reasoning' });
  const signed = editable(message['extra_content']);
  if (signed !== undefined) list.others(signed, { role, form: 'reasoning' });
  list.content(message, 'content', { role, changed }, ['text', 'refusal']);
  for (const part of editableList(message['content'])) {
    list.content(part, 'thinking', { role, form: 'reasoning' });
    list.others(part, { role }, knownOfPart);
  }
  list.member(message, 'refusal', { role, changed });
  callTexts(list, message, role);
  list.others(message, { role }, knownOfMessage);
}
