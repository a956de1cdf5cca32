// One item of a streamed response: its events become the events of its parts. Servers leave out some of the events that OpenAI sends.
import type { Part } from '../conversation/parts.ts';
import type { OpenedPart, PartDelta, StreamEvent } from '../conversation/stream-event.ts';
import { isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from '../json.ts';
import { readEncryptedContent } from './carried-signature.ts';
import { callId, readOutputItem } from './read-answer.ts';
import { readAnnotation } from './read-content.ts';

const none: readonly StreamEvent[] = [];

export class StreamedItem {
  readonly outputIndex: number;
  /** The number of the part that opens next. */
  nextPart: number;
  #type: string | undefined;
  #isOpen = false;
  /** The open part has text; or, of an item that is told whole: it was told. */
  #hasText = false;
  #hasParts = false;
  #summaries = new Set<number>();

  /** `nextPart`: how many parts other items had. */
  constructor(outputIndex: number, nextPart: number) {
    this.outputIndex = outputIndex;
    this.nextPart = nextPart;
  }

  read(type: string, value: JsonObject): readonly StreamEvent[] {
    switch (type) {
      case 'response.output_item.added':
        return this.#added(objectOf(value['item']) ?? {});
      case 'response.content_part.added':
        return this.#partAdded(objectOf(value['part']) ?? {});
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
      case 'response.content_part.done':
        return this.#partDone(objectOf(value['part']) ?? {});
      case 'response.output_item.done':
        return this.#done(objectOf(value['item']) ?? {});
      default:
        return none;
    }
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
    const isFreeText = this.#type === 'custom_tool_call';
    return this.#open({ kind: 'tool_call', id: callId(item), name: textOf(item['name']) ?? '', isFreeText });
  }

  /** Content of reasoning belongs to the part that the item opened. */
  #partAdded(part: JsonObject): readonly StreamEvent[] {
    if (part['type'] === 'output_text') return this.#open({ kind: 'text' });
    return part['type'] === 'refusal' ? this.#open({ kind: 'refusal' }) : none;
  }

  #text(value: JsonObject, kind: 'text' | 'refusal' | 'reasoning' | undefined): readonly StreamEvent[] {
    const text = textOf(value['delta']) ?? '';
    const logprobs = listOf(value['logprobs']) ?? [];
    const opened = this.#isOpen || kind === undefined ? none : this.#open({ kind });
    if (text === '' && logprobs.length === 0) return opened;
    this.#hasText = true;
    const delta = { kind: 'text', text, ...(logprobs.length === 0 ? {} : { logprobs }) } as const;
    return [...opened, this.#delta(delta)];
  }

  #summary(index: number, text: string): readonly StreamEvent[] {
    const opened = this.#isOpen ? none : this.#open({ kind: 'reasoning' });
    this.#summaries.add(index);
    return [...opened, this.#delta({ kind: 'summary', text, index })];
  }

  #annotation(annotation: JsonObject | undefined): readonly StreamEvent[] {
    if (annotation === undefined || !this.#isOpen) return none;
    return [this.#delta({ kind: 'citation', citation: readAnnotation(annotation) })];
  }

  #partDone(part: JsonObject): readonly StreamEvent[] {
    if (part['type'] !== 'output_text' && part['type'] !== 'refusal') return none;
    const text = textOf(part['text']) ?? textOf(part['refusal']) ?? '';
    return [...this.#untold(text), ...this.close()];
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
      const input = textOf(item['arguments']) ?? textOf(item['input']) ?? '';
      return [...opened, ...this.#untold(input), ...this.close()];
    }
    if (this.#hasParts) return this.close();
    // Nothing of it was told in pieces.
    return readOutputItem(item).flatMap((part) => this.#whole(part));
  }

  #whole(part: Part): readonly StreamEvent[] {
    if (part.kind !== 'text' && part.kind !== 'refusal')
      return [...this.#open({ kind: 'whole', part }), ...this.close()];
    const citations = (part.kind === 'text' && part.citations) || [];
    const logprobs = part.kind === 'text' ? part.logprobs : undefined;
    const told = [
      ...this.#open({ kind: part.kind }),
      this.#delta({ kind: 'text', text: part.text, ...(logprobs === undefined ? {} : { logprobs }) }),
      ...citations.map((citation) => this.#delta({ kind: 'citation', citation })),
    ];
    return [...told, ...this.close()];
  }

  #reasoningDone(item: JsonObject): readonly StreamEvent[] {
    const events = this.#isOpen ? [] : [...this.#open({ kind: 'reasoning' })];
    const texts = (key: string): readonly string[] =>
      (listOf(item[key]) ?? []).filter(isObject).map((entry) => textOf(entry['text']) ?? '');
    events.push(...this.#untold(texts('content').join('')));
    for (const [index, text] of texts('summary').entries()) {
      if (!this.#summaries.has(index)) events.push(this.#delta({ kind: 'summary', text, index }));
    }
    const content = textOf(item['encrypted_content']);
    const carried = content === undefined ? undefined : readEncryptedContent(content);
    if (carried?.kind === 'encrypted') events.push(this.#delta({ kind: 'encrypted', encrypted: carried.encrypted }));
    return [...events, ...this.close()];
  }
}
