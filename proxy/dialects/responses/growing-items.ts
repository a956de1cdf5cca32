// Items of an output while they are streamed: what is told when they begin, grow and end.
import type { CalledAs } from '../conversation/conversation.ts';
import type { Citation, ReasoningPart, Signature, ToolCallPart } from '../conversation/parts.ts';
import type { PartDelta } from '../conversation/stream-event.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import {
  callItem,
  callPrefix,
  type ItemStatus,
  messageItem,
  reasoningItem,
  reasoningText,
  signatureItem,
  summaryText,
} from './output-items.ts';
import { outputText, writeAnnotation } from './write-content.ts';

/** An event about an item: its type, without `response.`, and its members beside `item_id` and `output_index`. */
export type ItemEvent = readonly [type: string, members: JsonObject];

/** An item that is streamed. */
export interface GrowingItem {
  readonly id: string;
  /** The item as `output_item.added` shows it. */
  begun(): JsonObject;
  add(delta: PartDelta): readonly ItemEvent[];
  /** The part has ended; the item may get another one. */
  endPart(): readonly ItemEvent[];
  /** The items that were made: this one, and one that carries its signature. */
  ended(status: ItemStatus): readonly [JsonObject, ...JsonObject[]];
}

/** A message: texts and refusals in a row. */
export class GrowingMessage implements GrowingItem {
  readonly id: string;
  readonly #content: JsonObject[] = [];
  #kind: 'text' | 'refusal' = 'text';
  #text = '';
  #logprobs: JsonValue[] = [];
  #annotations: JsonObject[] = [];

  constructor(newId: () => string) {
    this.id = `msg_${newId()}`;
  }

  begun(): JsonObject {
    return messageItem(this.id, 'in_progress', []);
  }

  beginPart(kind: 'text' | 'refusal'): readonly ItemEvent[] {
    this.#kind = kind;
    this.#text = '';
    this.#logprobs = [];
    this.#annotations = [];
    return [['content_part.added', this.#at({ part: this.#part() })]];
  }

  add(delta: PartDelta): readonly ItemEvent[] {
    if (delta.kind === 'citation') return this.#cite(delta.citation);
    if (delta.kind !== 'text') return [];
    this.#text += delta.text;
    if (this.#kind === 'refusal') return [['refusal.delta', this.#at({ delta: delta.text })]];
    const logprobs = delta.logprobs ?? [];
    for (const entry of logprobs) this.#logprobs.push(entry);
    return [['output_text.delta', this.#at({ delta: delta.text, logprobs })]];
  }

  endPart(): readonly ItemEvent[] {
    const text = this.#text;
    const part = this.#part();
    const end: ItemEvent =
      this.#kind === 'refusal'
        ? ['refusal.done', this.#at({ refusal: text })]
        : ['output_text.done', this.#at({ text, logprobs: this.#logprobs })];
    const events: readonly ItemEvent[] = [end, ['content_part.done', this.#at({ part })]];
    this.#content.push(part);
    return events;
  }

  ended(status: ItemStatus): readonly [JsonObject] {
    return [messageItem(this.id, status, this.#content)];
  }

  #cite(citation: Citation): readonly ItemEvent[] {
    const annotation = writeAnnotation(citation);
    if (annotation === undefined) return [];
    const annotation_index = this.#annotations.length;
    this.#annotations.push(annotation);
    return [['output_text.annotation.added', this.#at({ annotation_index, annotation })]];
  }

  #part(): JsonObject {
    if (this.#kind === 'refusal') return { type: 'refusal', refusal: this.#text };
    return outputText({ kind: 'text', text: this.#text, logprobs: this.#logprobs }, this.#annotations);
  }

  #at(members: JsonObject): JsonObject {
    return { content_index: this.#content.length, ...members };
  }
}

/** A call of a tool, as JSON or as free text. */
export class GrowingCall implements GrowingItem {
  readonly id: string;
  readonly #newId: () => string;
  readonly #as: CalledAs | undefined;
  #call: ToolCallPart;

  /** `as`: how the client calls the tool. */
  constructor(call: ToolCallPart, newId: () => string, as: CalledAs | undefined) {
    this.id = callPrefix(call.isFreeText, as) + newId();
    this.#newId = newId;
    this.#as = as;
    this.#call = call;
  }

  begun(): JsonObject {
    return callItem(this.id, 'in_progress', this.#call, this.#as);
  }

  add(delta: PartDelta): readonly ItemEvent[] {
    if (delta.kind === 'signature') this.#call = { ...this.#call, signature: delta.signature };
    if (delta.kind !== 'text') return [];
    this.#call = { ...this.#call, input: this.#call.input + delta.text };
    if (this.#isWhole) return [];
    return [
      [this.#call.isFreeText ? 'custom_tool_call_input.delta' : 'function_call_arguments.delta', { delta: delta.text }],
    ];
  }

  endPart(): readonly ItemEvent[] {
    if (this.#isWhole) return [];
    const { isFreeText, input } = this.#call;
    const name = this.#as !== undefined && 'name' in this.#as ? this.#as.name : this.#call.name;
    if (isFreeText) return [['custom_tool_call_input.done', { input }]];
    // Clients parse the arguments, also those of a function that takes none.
    const added = input === '' ? this.add({ kind: 'text', text: '{}' }) : [];
    return [...added, ['function_call_arguments.done', { name, arguments: this.#call.input }]];
  }

  ended(status: ItemStatus): readonly [JsonObject, ...JsonObject[]] {
    const signature = signatureItem(this.#newId, this.#call);
    const item = callItem(this.id, status, this.#call, this.#as);
    return signature === undefined ? [item] : [item, signature];
  }

  /** An item that is no function's call is told when it begins and when it is done. */
  get #isWhole(): boolean {
    return this.#as !== undefined && 'item' in this.#as;
  }
}

/** Thoughts, in full or as summaries. `asSummary`: those in full are told as a summary too. */
export class GrowingReasoning implements GrowingItem {
  readonly id: string;
  readonly #asSummary: boolean;
  readonly #summary: string[] = [];
  #text = '';
  /** Index of the open summary; of the text: -1; undefined: none is open. */
  #open: number | undefined;
  #signature: Signature | undefined;
  #encrypted: Signature | undefined;

  constructor(newId: () => string, asSummary: boolean) {
    this.id = `rs_${newId()}`;
    this.#asSummary = asSummary;
  }

  begun(): JsonObject {
    return { id: this.id, type: 'reasoning', summary: [] };
  }

  add(delta: PartDelta): readonly ItemEvent[] {
    if (delta.kind === 'signature') this.#signature = delta.signature;
    if (delta.kind === 'encrypted') this.#encrypted = delta.encrypted;
    if (delta.kind === 'summary') return this.#grow(delta.index, delta.text);
    return delta.kind === 'text' ? this.#grow(-1, delta.text) : [];
  }

  endPart(): readonly ItemEvent[] {
    const open = this.#open;
    if (open === undefined) return [];
    this.#open = undefined;
    const text = open === -1 ? this.#text : (this.#summary[open] ?? '');
    const [done, part] = this.#isContent(open)
      ? [['reasoning_text.done', 'content_part.done'], reasoningText(text)]
      : [['reasoning_summary_text.done', 'reasoning_summary_part.done'], summaryText(text)];
    const at = this.#at(open);
    return [
      [done[0] ?? '', { ...at, text }],
      [done[1] ?? '', { ...at, part }],
    ];
  }

  ended(): readonly [JsonObject] {
    const part: ReasoningPart = {
      kind: 'reasoning',
      text: this.#text,
      summary: this.#summary,
      signature: this.#signature,
      encrypted: this.#encrypted,
    };
    return [reasoningItem(this.id, part, this.#asSummary)];
  }

  #grow(index: number, text: string): readonly ItemEvent[] {
    const isContent = this.#isContent(index);
    const events: ItemEvent[] = [];
    if (this.#open !== index) {
      events.push(...this.endPart());
      this.#open = index;
      const part = isContent ? reasoningText('') : summaryText('');
      events.push([isContent ? 'content_part.added' : 'reasoning_summary_part.added', { ...this.#at(index), part }]);
    }
    if (index === -1) this.#text += text;
    else {
      while (this.#summary.length <= index) this.#summary.push('');
      this.#summary[index] += text;
    }
    const type = isContent ? 'reasoning_text.delta' : 'reasoning_summary_text.delta';
    events.push([type, { ...this.#at(index), delta: text }]);
    return events;
  }

  #isContent(index: number): boolean {
    return index === -1 && !this.#asSummary;
  }

  /** A text that is told as a summary is the first one. */
  #at(index: number): JsonObject {
    if (this.#isContent(index)) return { content_index: 0 };
    return { summary_index: this.#asSummary && this.#text !== '' ? index + 1 : Math.max(index, 0) };
  }
}
