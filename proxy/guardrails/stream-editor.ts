// The events of a streamed answer, as the guardrails leave them: pieces of texts become what may be told now, texts that are told again what was
// told, and what was held back comes before the event that ends its text.
import { type EditableObject, editable } from '../dialects/editing.ts';
import type { EditableText, EventTexts, StreamedText, StreamTexts } from '../dialects/texts.ts';
import type { Chain } from './chain.ts';
import { readEvent, type StreamedEvent, writeEvent } from './event-bytes.ts';
import { type Flow, settled } from './flow.ts';
import { writtenValues } from './guarded-values.ts';

/** The edits of an answer: by guardrails, or by putting masked values back. */
export interface AnswerEdits {
  /** Of a text of its own. */
  chain(form: StreamedText['form']): Chain;
  /** Changes texts where they stand. False: they are as they were. */
  onTexts(texts: readonly EditableText[]): Flow<boolean>;
  /** Changes the system prompt that an answer repeats. False: it is unchanged. */
  repeatAsked(answer: EditableObject | undefined): boolean;
}

/** A text of the answer. */
interface Channel {
  readonly chain: Chain;
  /** All of it that was told. */
  told: string;
  isOver: boolean;
  /** The last event with a piece of it. */
  last: { readonly name: string | undefined; readonly body: EditableObject } | undefined;
}

/** Of texts that came as a whole, and of each of them in characters. */
const mostKnown = 256;
const longestKnown = 1_024;

/** Most of one answer: characters of its texts, and bytes that wait for a verdict or for the end of their event. */
export const mostLength = 16 * 1024 * 1024;
/**
 * The fixed length that a text counts besides its characters: an open one is checked with every event, and each one is
 * remembered.
 */
const openLength = mostLength / 1_024;
const overLength = 512;
/** The number of pieces of one event between two pauses. */
const stepPieces = 100;

export class StreamEditor {
  readonly #edits: AnswerEdits;
  readonly #texts: StreamTexts<EditableObject>;
  readonly #channels = new Map<string, Channel>();
  /** Those that are not over. */
  readonly #openKeys = new Set<string>();
  /** Texts that came as a whole, with their forms, and what was told of each. */
  readonly #known = new Map<string, string>();
  /** Events that were added, less those that were left out. */
  #shift = 0;
  /** Characters of all texts. */
  length = 0;

  constructor(edits: AnswerEdits, texts: StreamTexts<EditableObject>) {
    this.#edits = edits;
    this.#texts = texts;
  }

  /** The bytes that stand for an event; none: it is left out. Throws 400 `guardrail_blocked`. */
  *edit({ bytes }: StreamedEvent): Flow<readonly Buffer[]> {
    const { name, body, isDone } = yield* readEvent(bytes);
    if (body === undefined) return isDone ? [...(yield* this.end()), bytes] : [bytes];
    const texts = this.#texts.read(body, name);
    const before: Buffer[] = [];
    let isChanged = this.#edits.repeatAsked(editable(body['response']));
    const pieces = new Set(texts.pieces.map(({ channel }) => channel));
    for (const key of this.#openKeys)
      if (!pieces.has(key) && texts.ends(key)) before.push(...(yield* this.#close(key, body)));
    let isSaid = texts.pieces.length === 0;
    for (const [index, piece] of texts.pieces.entries()) {
      if (this.length > mostLength) return before;
      if (index % stepPieces === stepPieces - 1) yield* settled(nextTurn());
      const told = yield* this.#piece(piece, texts);
      isSaid ||= told !== '';
      isChanged = replace(piece, told) || isChanged;
      this.#remember(piece.channel, name, body);
    }
    for (const repeat of texts.repeats) isChanged = replace(repeat, yield* this.#repeat(repeat)) || isChanged;
    isChanged = (yield* this.#wholes(texts.wholes)) || isChanged;
    if (!isSaid && texts.isPieces) {
      this.#shift -= 1;
      return before;
    }
    return [...before, yield* this.#written(name, body, { bytes, isChanged })];
  }

  /** The stream is over: what was held back. */
  *end(): Flow<readonly Buffer[]> {
    const rest: Buffer[] = [];
    for (const key of this.#openKeys) rest.push(...(yield* this.#close(key, undefined)));
    return rest;
  }

  *#piece({ channel: key, form, text }: StreamedText, texts: EventTexts): Flow<string> {
    const channel = this.#open(key, form);
    this.length += text.length;
    let told = yield* channel.chain.push(text);
    if (texts.ends(key)) {
      told += yield* channel.chain.end();
      this.#over(key, channel);
    }
    channel.told += told;
    return told;
  }

  /** The text that repeats the pieces of a channel, or is its only source. */
  *#repeat({ channel: key, form, text }: StreamedText): Flow<string> {
    const known = this.#channels.get(key);
    if (known !== undefined) return known.told;
    const channel = this.#open(key, form);
    this.#over(key, channel);
    channel.told = (yield* channel.chain.push(text)) + (yield* channel.chain.end());
    return channel.told;
  }

  #open(key: string, form: StreamedText['form']): Channel {
    const known = this.#channels.get(key);
    if (known?.isOver === false) return known;
    const channel = { chain: this.#edits.chain(form), told: '', isOver: false, last: undefined };
    this.#channels.set(key, channel);
    this.#openKeys.add(key);
    this.length += openLength;
    return channel;
  }

  #over(key: string, channel: Channel): void {
    if (channel.isOver) return;
    channel.isOver = true;
    this.#openKeys.delete(key);
    this.length += overLength - openLength;
  }

  /** Texts that come as a whole are looked at together. What was looked at is told again as it was. */
  *#wholes(texts: readonly EditableText[]): Flow<boolean> {
    const fresh: EditableText[] = [];
    let isChanged = false;
    for (const text of texts) {
      const told = this.#known.get(`${text.form} ${text.text}`);
      if (told === undefined) fresh.push(text);
      else isChanged = replace(text, told) || isChanged;
    }
    if (fresh.length === 0) return isChanged;
    const asked = fresh.map(({ form, text }) => `${form} ${text}`);
    isChanged = (yield* this.#edits.onTexts(fresh)) || isChanged;
    for (const [index, { text: told }] of fresh.entries()) this.#know(asked[index] ?? '', told);
    return isChanged;
  }

  #know(asked: string, told: string): void {
    if (asked.length > longestKnown) return;
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(asked, told);
  }

  #remember(key: string, name: string | undefined, body: EditableObject): void {
    const channel = this.#channels.get(key);
    if (channel !== undefined) channel.last = { name, body };
  }

  /** The event with what was held back; none: nothing was. `behind`: the event that comes next. */
  *#close(key: string, behind: EditableObject | undefined): Flow<readonly Buffer[]> {
    const channel = this.#channels.get(key);
    if (channel === undefined) return [];
    this.#over(key, channel);
    const rest = yield* channel.chain.end();
    if (rest === '' || channel.last === undefined) return [];
    channel.told += rest;
    const { name, body } = channel.last;
    const more = this.#texts.again(body, key, rest);
    const number = behind?.['sequence_number'] ?? body['sequence_number'];
    // Numbered as the one that comes behind was.
    if (typeof number === 'number') more['sequence_number'] = number + this.#shift;
    this.#shift += 1;
    return [writeEvent(name, yield* writtenValues(more, rest.length))];
  }

  /** `bytes`: those of the event as it came. */
  *#written(
    name: string | undefined,
    body: EditableObject,
    { bytes, isChanged }: { readonly bytes: Buffer; readonly isChanged: boolean },
  ): Flow<Buffer> {
    const number = body['sequence_number'];
    const isMoved = this.#shift !== 0 && typeof number === 'number';
    if (!isMoved && !isChanged) return bytes;
    const written = isMoved ? { ...body, sequence_number: number + this.#shift } : body;
    return writeEvent(name, yield* writtenValues(written, bytes.length));
  }
}

function nextTurn(): Promise<unknown> {
  return new Promise((resume) => setImmediate(resume));
}

/** False: it says that already. */
function replace(text: EditableText, told: string): boolean {
  if (text.text === told) return false;
  text.replace(told);
  return true;
}
