// The texts of the events of a Messages answer.
import { type EditableObject, editable, placeIn, StreamedList, wordIn } from '../editing.ts';
import { otherTexts } from '../other-texts.ts';
import type { EventTexts, StreamTexts, TextForm } from '../texts.ts';
import { otherTextsOf } from './answer-texts.ts';

/** By the type of a delta, and of a block: the member that holds the words, and what they are. */
const members: ReadonlyMap<string, readonly [key: string, form: TextForm]> = new Map([
  ['text_delta', ['text', 'text']],
  ['input_json_delta', ['partial_json', 'json']],
  ['thinking_delta', ['thinking', 'reasoning']],
  ['text', ['text', 'text']],
  ['thinking', ['thinking', 'reasoning']],
]);

const deltaTypes: Readonly<Record<string, string>> = { json: 'input_json_delta', reasoning: 'thinking_delta' };

export const eventTexts: StreamTexts<EditableObject> = {
  read(body: EditableObject, name: string | undefined): EventTexts {
    const list = new StreamedList();
    const type = wordIn(body, 'type') || name;
    const index = String(placeIn(body, 'index'));
    const said = editable(type === 'content_block_start' ? body['content_block'] : body['delta']);
    const member = members.get(wordIn(said, 'type'));
    const isWords = type === 'content_block_start' || type === 'content_block_delta';
    if (isWords && said !== undefined && member !== undefined) {
      list.member(said, member[0], `${index} ${member[1]}`, { form: member[1] });
    }
    if (type === 'content_block_delta' && said !== undefined && member === undefined) {
      for (const [holder, key] of otherTexts(said))
        if (holder === said) list.member(said, key, `${index} ${wordIn(said, 'type')} ${key}`, { form: 'aside' });
    }
    if (type === 'content_block_start' && said !== undefined) otherTextsOf(list.wholes, said);
    const citation = isWords ? editable(said?.['citation']) : undefined;
    if (citation !== undefined) list.wholes.others(citation, { role: 'assistant' });
    const isOver = type === 'message_delta' || type === 'message_stop';
    const ends = (channel: string): boolean =>
      isOver || (type === 'content_block_stop' && channel.startsWith(`${index} `));
    const isPieces = type === 'content_block_delta' && list.texts.length > 0;
    return { pieces: list.texts, repeats: [], wholes: list.wholes.texts, ends, isPieces };
  },
  again(_body: EditableObject, channel: string, text: string): EditableObject {
    const [index = '0', form = 'text', unknown] = channel.split(' ');
    if (unknown !== undefined)
      return { type: 'content_block_delta', index: Number(index), delta: { type: form, [unknown]: text } };
    const type = deltaTypes[form] ?? 'text_delta';
    const key = members.get(type)?.[0] ?? 'text';
    return { type: 'content_block_delta', index: Number(index), delta: { type, [key]: text } };
  },
};
