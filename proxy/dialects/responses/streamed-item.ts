// One item of a streamed response: its events become the events of its parts. Servers leave out some of the events that OpenAI sends.
import type { Part } from '../conversation/parts.ts';
import type { OpenedPart, PartDelta, StreamEvent } from '../conversation/stream-event.ts';
import { isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from '../json/json.ts';
import { InvalidAnswer } from '../translation.ts';
import { readEncryptedContent } from './carried-signature.ts';
import { callId, readContentPart, readOutputItem } from './read/read-answer.ts';
import { readAnnotation } from './read/read-content.ts';

const none: readonly StreamEvent[] = [];

export class StreamedItem {
  readonly outputIndex: number;
  /** The number of the part that opens next. */
  nextPart: number;
  #type: string | undefined;
  /** The item as it was announced: some servers say all of it there. */
  #begun: JsonObject | undefined;
  #isOpen = false;
  /** The open part has text; or, of an item that is told whole: it was told. */
  #hasText = false;
  #hasParts = false;
  /** The pieces of content that were begun, by `content_index`, and the one that the open part is. */
  readonly #contents = new Set<number>();
  #content = 0;
  /** Their numbers here by those of the server, which may be any. */
  readonly #summaries = new Map<number, number>();

  /** `nextPart`: how many parts other items had. */
  constructor(outputIndex: number, nextPart: number) {
    this.outputIndex = outputIndex;
    this.nextPart = nextPart;
  }

  /** Something of it was told. */
  get isTold(): boolean {
    return this.#hasParts;
  }

  read(type: string, value: JsonObject): readonly StreamEvent[] {
    switch (type) {
      case 'response.output_item.added':
        this.#begun = objectOf(value['item']);
        return this.#added(this.#begun ?? {});
      case 'response.content_part.added':
        return this.#partAdded(objectOf(value['part']) ?? {}, contentIndex(value));
      case 'response.output_text.delta':
        return this.#text(value, 'text');
      case 'response.refusal.delta':
        return this.#text(value, 'refusal');
      case 'response.reasoning_text.delta':
        return this.#text(value, 'reasoning');
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#isOpen ? this.#text(value, undefined) : none;
      case 'response.output_text.annotation.added':
        return this.#annotation(objectOf(value['annotation']));
      case 'response.reasoning_summary_text.delta':
        return this.#summary(numberOf(value['summary_index']) ?? 0, textOf(value['delta']) ?? '');
      default:
        return this.#readDone(type, value);
    }
  }

  /** Reads an event that repeats its pieces, and is the only source where none came. */
  #readDone(type: string, value: JsonObject): readonly StreamEvent[] {
    const part = objectOf(value['part']) ?? {};
    switch (type) {
      case 'response.output_text.done':
        return this.#contentDone(contentIndex(value), { ...value, type: 'output_text' });
      case 'response.refusal.done':
        return this.#contentDone(contentIndex(value), { ...value, type: 'refusal' });
      case 'response.content_part.done':
        return part['type'] === 'output_text' || part['type'] === 'refusal'
          ? [...this.#contentDone(contentIndex(value), part), ...this.close()]
          : none;
      case 'response.reasoning_text.done':
        return this.#thoughtDone(contentIndex(value) ?? 0, textOf(value['text']) ?? '');
      case 'response.reasoning_summary_text.done':
        return this.#summaryDone(numberOf(value['summary_index']) ?? 0, textOf(value['text']) ?? '');
      case 'response.reasoning_summary_part.done':
        return this.#summaryDone(numberOf(value['summary_index']) ?? 0, textOf(part['text']) ?? '');
      case 'response.function_call_arguments.done':
        return this.#untold(textOf(value['arguments']) ?? '');
      case 'response.custom_tool_call_input.done':
        return this.#untold(textOf(value['input']) ?? '');
      case 'response.output_item.done':
        return this.#done(objectOf(value['item']) ?? {});
      default:
        return none;
    }
  }

  /** Ends the item where the server does not: with what it was announced with, if it said nothing else. */
  end(): readonly StreamEvent[] {
    return this.#begun === undefined ? this.close() : this.#done(this.#begun);
  }

  /** Ends what is open. */
  close(): readonly StreamEvent[] {
    if (!this.#isOpen) return none;
    this.#isOpen = false;
    return [{ kind: 'closed', index: this.nextPart - 1 }];
  }

  #open(part: OpenedPart): readonly StreamEvent[] {
    const before = this.close();
    this.#isOpen = true;
    this.#hasText = false;
    this.#hasParts = true;
    const index = this.nextPart;
    this.nextPart += 1;
    return [...before, { kind: 'opened', index, part }];
  }

  #delta(delta: PartDelta): StreamEvent {
    return { kind: 'delta', index: this.nextPart - 1, delta };
  }

  #added(item: JsonObject): readonly StreamEvent[] {
    this.#type = textOf(item['type']);
    if (this.#type === 'reasoning') return this.#open({ kind: 'reasoning' });
    if (this.#type !== 'function_call' && this.#type !== 'custom_tool_call') return none;
    const name = textOf(item['name']);
    // Some servers say it at the end of the item.
    if (!name) return none;
    return this.#open({ kind: 'tool_call', id: callId(item), name, isFreeText: this.#type === 'custom_tool_call' });
  }

  /** Content of reasoning belongs to the part that the item opened. */
  #partAdded(part: JsonObject, index: number | undefined): readonly StreamEvent[] {
    if (part['type'] === 'output_text') return this.#openContent('text', index);
    return part['type'] === 'refusal' ? this.#openContent('refusal', index) : none;
  }

  /** Servers that do not count their content send one piece after the other. */
  #openContent(kind: 'text' | 'refusal' | 'reasoning', index = this.#contents.size): readonly StreamEvent[] {
    this.#content = index;
    this.#contents.add(index);
    return this.#open({ kind });
  }

  #text(value: JsonObject, kind: 'text' | 'refusal' | 'reasoning' | undefined): readonly StreamEvent[] {
    const text = textOf(value['delta']) ?? '';
    const logprobs = listOf(value['logprobs']) ?? [];
    const index = contentIndex(value);
    const isNext = kind !== 'reasoning' && index !== undefined && index !== this.#content;
    const isInOpen = kind === undefined || (this.#isOpen && !isNext);
    const opened = isInOpen ? none : this.#openContent(kind, index);
    if (text === '' && logprobs.length === 0) return opened;
    if (kind === 'reasoning') this.#contents.add(index ?? 0);
    this.#hasText = true;
    const delta = { kind: 'text', text, ...(logprobs.length === 0 ? {} : { logprobs }) } as const;
    return [...opened, this.#delta(delta)];
  }

  #summary(given: number, text: string): readonly StreamEvent[] {
    const opened = this.#isOpen ? none : this.#open({ kind: 'reasoning' });
    const index = this.#summaries.get(given) ?? this.#summaries.size;
    this.#summaries.set(given, index);
    return [...opened, this.#delta({ kind: 'summary', text, index })];
  }

  #annotation(annotation: JsonObject | undefined): readonly StreamEvent[] {
    if (annotation === undefined || !this.#isOpen) return none;
    return [this.#delta({ kind: 'citation', citation: readAnnotation(annotation) })];
  }

  /** A piece of content that is complete: the rest of the open part, or a part of which nothing came. */
  #contentDone(index: number | undefined, part: JsonObject): readonly StreamEvent[] {
    const at = index ?? this.#content;
    if (this.#isOpen && at === this.#content) {
      if (this.#hasText) return none;
      return readContentPart(part).flatMap((told) => this.#words(told));
    }
    if (this.#contents.has(at)) return none;
    return readContentPart(part).flatMap((told) => {
      if (told.kind !== 'text' && told.kind !== 'refusal') return [];
      return [...this.#openContent(told.kind, at), ...this.#words(told)];
    });
  }

  /** The deltas of an open part of which no piece came. */
  #words(part: Part): readonly StreamEvent[] {
    if ((part.kind !== 'text' && part.kind !== 'refusal') || part.text === '') return none;
    this.#hasText = true;
    const citations = (part.kind === 'text' && part.citations) || [];
    const logprobs = part.kind === 'text' ? part.logprobs : undefined;
    return [
      this.#delta({ kind: 'text', text: part.text, ...(logprobs === undefined ? {} : { logprobs }) }),
      ...citations.map((citation) => this.#delta({ kind: 'citation', citation })),
    ];
  }

  #thoughtDone(index: number, text: string): readonly StreamEvent[] {
    if (text === '' || this.#contents.has(index)) return none;
    return this.#text({ content_index: index, delta: text }, 'reasoning');
  }

  #summaryDone(index: number, text: string): readonly StreamEvent[] {
    return text === '' || this.#summaries.has(index) ? none : this.#summary(index, text);
  }

  /** The text of the open part, where no piece of it came. */
  #untold(text: string): readonly StreamEvent[] {
    if (!this.#isOpen || this.#hasText || text === '') return none;
    this.#hasText = true;
    return [this.#delta({ kind: 'text', text })];
  }

  #done(item: JsonObject): readonly StreamEvent[] {
    const type = this.#type ?? textOf(item['type']);
    if (type === 'reasoning') return this.#reasoningDone(item);
    if (type === 'function_call' || type === 'custom_tool_call') {
      const opened = this.#hasParts ? none : this.#added({ ...item, type });
      if (!this.#hasParts) throw new InvalidAnswer('it calls a tool without a name');
      const input = textOf(item['arguments']) ?? textOf(item['input']) ?? '';
      return [...opened, ...this.#untold(input), ...this.close()];
    }
    if (type === 'message') return this.#messageDone(item);
    // Nothing of it was told in pieces.
    return this.#hasParts ? this.close() : readOutputItem(item).flatMap((part) => this.#whole(part));
  }

  #messageDone(item: JsonObject): readonly StreamEvent[] {
    const content = (listOf(item['content']) ?? []).filter(isObject);
    return [...content.flatMap((part, index) => this.#contentDone(index, part)), ...this.close()];
  }

  #whole(part: Part): readonly StreamEvent[] {
    return [...this.#open({ kind: 'whole', part }), ...this.close()];
  }

  #reasoningDone(item: JsonObject): readonly StreamEvent[] {
    const events = this.#isOpen ? [] : [...this.#open({ kind: 'reasoning' })];
    const texts = (key: string): readonly string[] =>
      (listOf(item[key]) ?? []).filter(isObject).map((entry) => textOf(entry['text']) ?? '');
    for (const [index, text] of texts('content').entries()) events.push(...this.#thoughtDone(index, text));
    for (const [index, text] of texts('summary').entries()) events.push(...this.#summaryDone(index, text));
    const content = textOf(item['encrypted_content']);
    const carried = content === undefined ? undefined : readEncryptedContent(content);
    if (carried?.kind === 'encrypted') events.push(this.#delta({ kind: 'encrypted', encrypted: carried.encrypted }));
    return [...events, ...this.close()];
  }
}

function contentIndex(value: JsonObject): number | undefined {
  return numberOf(value['content_index']);
}
