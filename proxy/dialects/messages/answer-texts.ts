// The texts of a Messages answer, where they stand in its body.
import { type EditableObject, editableList, TextList } from '../editing.ts';
import type { AnswerTexts } from '../texts.ts';

/** The texts of an answer, to be read and changed in `body`. */
export function answerTexts(body: EditableObject): AnswerTexts {
  const list = new TextList();
  for (const block of editableList(body['content'])) {
    list.member(block, 'text', { role: 'assistant' });
    list.member(block, 'thinking', { role: 'assistant', form: 'reasoning' });
    otherTextsOf(list, block);
  }
  return list;
}

const known: ReadonlySet<string> = new Set(['text', 'thinking', 'input']);

/**
 * Adds the texts of a block besides its own: the input of a tool call, citations, and results of the provider's tools.
 */
export function otherTextsOf(list: TextList, block: EditableObject): void {
  list.value(block, 'input', { role: 'assistant' });
  list.others(block, { role: 'assistant' }, known);
}
