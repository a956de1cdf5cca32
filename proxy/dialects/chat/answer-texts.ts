// The texts of a chat answer, and of a text completion, where they stand in its body.
import { type EditableObject, editable, editableList, TextList } from '../editing.ts';
import type { AnswerTexts } from '../texts.ts';
import { callTexts } from './request-texts.ts';

/** What was said of the tokens of a text goes when the text is changed. */
export function answerTexts(body: EditableObject): AnswerTexts {
  const list = new TextList();
  for (const choice of editableList(body['choices'])) {
    const changed = (): void => {
      if (choice['logprobs'] !== undefined) choice['logprobs'] = null;
    };
    list.member(choice, 'text', { role: 'assistant', changed });
    const message = editable(choice['message']);
    if (message === undefined) continue;
    list.member(message, 'reasoning_content', { role: 'assistant', form: 'reasoning' });
    list.member(message, 'reasoning', { role: 'assistant', form: 'reasoning' });
    for (const detail of editableList(message['reasoning_details']))
      for (const key of ['text', 'summary']) list.member(detail, key, { role: 'assistant', form: 'reasoning' });
    list.content(message, 'content', { role: 'assistant', changed }, ['text', 'refusal']);
    for (const part of editableList(message['content']))
      list.content(part, 'thinking', { role: 'assistant', form: 'reasoning' });
    list.member(message, 'refusal', { role: 'assistant', changed });
    callTexts(list, message, 'assistant');
  }
  return list;
}
