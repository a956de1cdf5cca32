// Folds the events of a stream into the answer that they tell.
import { type JsonValue, unlessEmpty } from '../json/json.ts';
import type { ConversationAnswer, ConversationUsage, Finish } from './conversation.ts';
import type { Citation, Part, Signature } from './parts.ts';
import type { OpenedPart, PartDelta, StreamEvent, StreamFailure } from './stream-event.ts';

/** A part as far as it has come. */
interface Growing {
  readonly opened: OpenedPart;
  text: string;
  readonly logprobs: JsonValue[];
  readonly summary: string[];
  readonly citations: Citation[];
  signature: Signature | undefined;
  encrypted: Signature | undefined;
}

/** Takes events one after the other; what it holds grows with the answer, so the caller bounds it. */
export class AnswerFold {
  #id = '';
  #model = '';
  #createdAt: number | undefined;
  readonly #parts: Growing[] = [];
  #usage: ConversationUsage | undefined;
  #finish: Finish | undefined;
  failure: StreamFailure | undefined;

  add(event: StreamEvent): void {
    switch (event.kind) {
      case 'started':
        this.#id = event.id;
        this.#model = event.model;
        this.#createdAt = event.createdAt;
        return;
      case 'opened':
        this.#parts[event.index] = growing(event.part);
        return;
      case 'delta':
        grow(this.#parts[event.index], event.delta);
        return;
      case 'usage':
        this.#usage = event.usage;
        return;
      case 'finished':
        this.#finish = event.finish;
        return;
      case 'failed':
        this.failure = event.failure;
        return;
    }
  }

  /** The answer; one that was not finished counts as stopped. */
  answer(): ConversationAnswer {
    return {
      id: this.#id,
      model: this.#model,
      createdAt: this.#createdAt,
      parts: this.#parts.map(grown),
      finish: this.#finish ?? { reason: 'stop' },
      usage: this.#usage,
    };
  }

  get isFinished(): boolean {
    return this.#finish !== undefined;
  }

  get usage(): ConversationUsage | undefined {
    return this.#usage;
  }
}

function growing(opened: OpenedPart): Growing {
  return { opened, text: '', logprobs: [], summary: [], citations: [], signature: undefined, encrypted: undefined };
}

function grow(part: Growing | undefined, delta: PartDelta): void {
  if (part === undefined) return;
  switch (delta.kind) {
    case 'text':
      part.text += delta.text;
      for (const entry of delta.logprobs ?? []) part.logprobs.push(entry);
      return;
    case 'summary':
      while (part.summary.length <= delta.index) part.summary.push('');
      part.summary[delta.index] += delta.text;
      return;
    case 'citation':
      part.citations.push(delta.citation);
      return;
    case 'signature':
      part.signature = delta.signature;
      return;
    case 'encrypted':
      part.encrypted = delta.encrypted;
      return;
  }
}

function grown({ opened, text, logprobs, summary, citations, signature, encrypted }: Growing): Part {
  if (opened.kind === 'whole') return opened.part;
  if (opened.kind === 'refusal') return { kind: 'refusal', text };
  if (opened.kind === 'reasoning') return { kind: 'reasoning', text, summary, signature, encrypted };
  if (opened.kind === 'tool_call') {
    const { id, name, isFreeText } = opened;
    return { kind: 'tool_call', id, name, input: text, isFreeText, signature };
  }
  return { kind: 'text', text, citations: unlessEmpty(citations), logprobs: unlessEmpty(logprobs) };
}
