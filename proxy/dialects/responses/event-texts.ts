// The texts of the events of a Responses answer, which tell each text up to four times: in pieces, and as a whole at the end of the text, of
// its part, of its item and of the answer.
import { type EditableObject, editable, editableList, placeIn, StreamedList, wordIn } from '../editing.ts';
import { isNoWords } from '../other-texts.ts';
import type { EventTexts, StreamTexts, TextForm } from '../texts.ts';
import { forgetSigned } from './answer-texts.ts';
import { knownOfPart, resultTexts } from './request-texts.ts';

/** By what an event is about: the member that holds all of it at its end, the name of its channel, and what it is. */
const kinds: ReadonlyMap<string, readonly [key: string, name: string, form: TextForm]> = new Map([
  ['output_text', ['text', 'content', 'text']],
  ['refusal', ['refusal', 'content', 'text']],
  ['function_call_arguments', ['arguments', 'arguments', 'json']],
  ['mcp_call_arguments', ['arguments', 'arguments', 'json']],
  ['custom_tool_call_input', ['input', 'input', 'aside']],
  ['code_interpreter_call_code', ['code', 'code', 'aside']],
  ['reasoning_summary_text', ['text', 'summary', 'reasoning']],
  ['reasoning_text', ['text', 'thoughts', 'reasoning']],
]);

const wholeAnswers = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
]);
const lastEvents = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'error',
]);
const said = { role: 'assistant' } as const;
const knownOfThought: ReadonlySet<string> = new Set(['content', 'summary']);
const knownOfMessage: ReadonlySet<string> = new Set(['content']);
const knownOfCall: ReadonlySet<string> = new Set(['arguments', 'input', 'output', 'code']);

export const eventTexts: StreamTexts<EditableObject> = {
  read(body: EditableObject, name: string | undefined): EventTexts {
    const type = wordIn(body, 'type') || (name ?? '');
    const pieces = new StreamedList();
    const repeats = new StreamedList();
    const [, subject = '', step = ''] = /^response\.(\w+)\.(\w+)$/.exec(type) ?? [];
    const kind = kinds.get(subject);
    const channel = kind === undefined ? '' : channelOf(body, kind[1]);
    const changed = (): void => forgetLogprobs(body);
    if (kind !== undefined && step === 'delta') pieces.member(body, 'delta', channel, { form: kind[2], changed });
    if (kind !== undefined && step === 'done') repeats.member(body, kind[0], channel, { form: kind[2], changed });
    if (subject === 'content_part' || subject === 'reasoning_summary_part') partRepeats(repeats, body, subject);
    if (subject === 'output_item') itemRepeats(repeats, editable(body['item']), placeIn(body, 'output_index'));
    if (kind === undefined) unknownTexts(pieces, repeats, body, type);
    const annotation = editable(body['annotation']);
    if (annotation !== undefined) repeats.wholes.others(annotation, said);
    if (wholeAnswers.has(type)) {
      const items = editableList(editable(body['response'])?.['output']);
      for (const [index, item] of items.entries()) itemRepeats(repeats, item, index);
    }
    const told = new Set(repeats.texts.map((text) => text.channel));
    return {
      pieces: pieces.texts,
      repeats: repeats.texts,
      wholes: repeats.wholes.texts,
      ends: (key) => lastEvents.has(type) || told.has(key) || (step === 'done' && key === channel),
      isPieces: step === 'delta' && pieces.texts.length > 0,
    };
  },
  again(body: EditableObject, _channel: string, text: string): EditableObject {
    const more: EditableObject = { ...body, delta: text };
    delete more['obfuscation'];
    forgetLogprobs(more);
    return more;
  },
};

/** Sound and pictures in pieces, and what tells wholes in members of their own. */
const noWords = /(?:audio|image_?\w*)\.delta$/;
const knownOfEvent: ReadonlySet<string> = new Set([
  'item',
  'part',
  'response',
  'annotation',
  'delta',
  'error',
  'obfuscation',
]);

/** Events of tools that are not known: pieces of a text, and its end. */
function unknownTexts(pieces: StreamedList, repeats: StreamedList, body: EditableObject, type: string): void {
  if (type.endsWith('.delta') && !noWords.test(type) && !isNoWords(wordIn(body, 'delta'))) {
    const channel = `${placeIn(body, 'output_index')} ${type} ${placeIn(body, 'content_index')}`;
    pieces.member(body, 'delta', channel, { form: 'aside' });
  } else if (type.endsWith('.done')) repeats.wholes.others(body, said, knownOfEvent);
}

function forgetLogprobs(holder: EditableObject): void {
  if (Array.isArray(holder['logprobs'])) holder['logprobs'] = [];
}

function channelOf(body: EditableObject, name: string): string {
  const part = placeIn(body, name === 'summary' ? 'summary_index' : 'content_index');
  return `${placeIn(body, 'output_index')} ${name} ${part}`;
}

function partRepeats(list: StreamedList, body: EditableObject, subject: string): void {
  const part = editable(body['part']);
  if (part === undefined) return;
  const isThought = subject === 'reasoning_summary_part' || part['type'] === 'reasoning_text';
  const name = subject === 'reasoning_summary_part' ? 'summary' : isThought ? 'thoughts' : 'content';
  partRepeat(list, part, { channel: channelOf(body, name), form: isThought ? 'reasoning' : 'text' });
}

/** The place of a part in the answer. */
interface PartPlace {
  readonly channel: string;
  readonly form: TextForm;
  /** Its item, if that is one of thoughts. */
  readonly thought?: EditableObject | undefined;
}

function partRepeat(list: StreamedList, part: EditableObject, { channel, form, thought }: PartPlace): void {
  const changed = (): void => {
    forgetLogprobs(part);
    if (thought !== undefined) forgetSigned(thought);
  };
  list.member(part, 'text', channel, { form, changed });
  list.member(part, 'refusal', channel, { changed });
  list.wholes.others(part, said, knownOfPart);
}

function itemRepeats(list: StreamedList, item: EditableObject | undefined, output: number): void {
  if (item === undefined) return;
  const isThought = item['type'] === 'reasoning';
  for (const [index, part] of editableList(item['content']).entries()) {
    const channel = `${output} ${isThought ? 'thoughts' : 'content'} ${index}`;
    partRepeat(list, part, isThought ? { channel, form: 'reasoning', thought: item } : { channel, form: 'text' });
  }
  for (const [index, part] of editableList(item['summary']).entries()) {
    partRepeat(list, part, { channel: `${output} summary ${index}`, form: 'reasoning', thought: item });
  }
  if (isThought) {
    list.wholes.others(item, { ...said, form: 'reasoning' }, knownOfThought);
    return;
  }
  list.member(item, 'arguments', `${output} arguments 0`, { form: 'json' });
  for (const key of ['input', 'output', 'code']) list.member(item, key, `${output} ${key} 0`, { form: 'aside' });
  for (const key of ['arguments', 'input']) list.wholes.value(item, key, said);
  if (typeof item['output'] !== 'string') resultTexts(list.wholes, item);
  list.wholes.others(item, said, item['type'] === 'message' ? knownOfMessage : knownOfCall);
}
