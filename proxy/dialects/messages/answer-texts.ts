// The texts of a Messages answer, where they stand in its body.
import { type EditableObject, editableList, TextList } from '../editing.ts';
import type { AnswerTexts } from '../texts.ts';

export function answerTexts(body: EditableObject): AnswerTexts {
  const list = new TextList();
  for (const block of editableList(body['content'])) {
    if (block['type'] === 'text') list.member(block, 'text', { role: 'assistant' });
    else if (block['type'] === 'thinking') list.member(block, 'thinking', { role: 'assistant', form: 'reasoning' });
    else if (block['type'] === 'tool_use') list.value(block, 'input', { role: 'assistant' });
  }
  return list;
}
