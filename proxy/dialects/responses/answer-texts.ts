// The texts of a Responses answer, where they stand in its body.
import { type EditableObject, editableList, TextList } from '../editing.ts';
import { isSignedHere } from '../foreign-signature.ts';
import { textOf } from '../json/json.ts';
import type { AnswerTexts } from '../texts.ts';
import { itemTexts, knownOfPart } from './request-texts.ts';

/** The texts of an answer. A changed text loses its log probabilities. */
export function answerTexts(body: EditableObject): AnswerTexts {
  const list = new TextList();
  for (const item of editableList(body['output'])) outputTexts(list, item);
  return list;
}

/** The texts of one item of an answer. */
export function outputTexts(list: TextList, item: EditableObject): void {
  if (item['type'] === 'reasoning') {
    const changed = (): void => forgetSigned(item);
    for (const key of ['summary', 'content'])
      list.content(item, key, { role: 'assistant', form: 'reasoning', changed });
  } else if (item['type'] === 'message') {
    for (const part of editableList(item['content'])) partTexts(list, part);
  } else itemTexts(list, item);
}

/** The texts of one part of a message. */
export function partTexts(list: TextList, part: EditableObject): void {
  const changed = (): void => {
    if (Array.isArray(part['logprobs'])) part['logprobs'] = [];
  };
  list.member(part, 'text', { role: 'assistant', changed });
  list.member(part, 'refusal', { role: 'assistant' });
  list.others(part, { role: 'assistant' }, knownOfPart);
}

/** Removes a signature of the gateway, which holds the thoughts in words. */
export function forgetSigned(item: EditableObject): void {
  if (isSignedHere(textOf(item['encrypted_content']))) delete item['encrypted_content'];
}
