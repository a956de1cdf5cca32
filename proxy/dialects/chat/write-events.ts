// Writes the chunks of a streamed answer for a client of chat.
import type { ConversationUsage, Finish } from '../conversation/conversation.ts';
import type { Part, Signature } from '../conversation/parts.ts';
import type { OpenedPart, PartDelta, StreamEvent, StreamFailure } from '../conversation/stream-event.ts';
import { type JsonObject, type JsonValue, writeJson } from '../json/json.ts';
import { writeRescued } from '../rescued.ts';
import { FreeTextRestorer } from '../tools/free-text-tools.ts';
import type { AnswerContext, EventWriter } from '../translation.ts';
import { ChunkFrame } from './chunk-frame.ts';
import { writeAnnotations } from './citations.ts';
import { writeFinish } from './finish.ts';
import { writeExtraContent } from './thoughts.ts';
import { speaksOfFunctions } from './write-answer.ts';
import { writeLogprobs, writeMessage } from './write-message.ts';

/** Thoughts as far as they have come: with their proof, a client gets them once more as a whole. */
interface Thoughts {
  readonly texts: string[];
  readonly summary: string[];
  signature?: Signature;
  encrypted?: Signature;
}

const format = { object: 'chat.completion.chunk', idPrefix: 'chatcmpl-' };

export class ChunkWriter implements EventWriter {
  readonly #isLegacy: boolean;
  readonly #frame: ChunkFrame;
  readonly #restorer: FreeTextRestorer;
  #usage: ConversationUsage | undefined;
  #open: OpenedPart | undefined;
  #thoughts: Thoughts | undefined;
  #calls = 0;
  #hasInput = false;
  #hasRefusal = false;
  #hasThoughts = false;
  /** Characters of the texts before the open one, and of it. */
  #shift = 0;
  #length = 0;

  constructor(context: AnswerContext) {
    this.#frame = new ChunkFrame(context, format);
    this.#isLegacy = speaksOfFunctions(context);
    this.#restorer = new FreeTextRestorer(context.request);
  }

  write(event: StreamEvent): readonly string[] {
    return this.#restorer.push(event).map((restored) => this.#write(restored));
  }

  #write(event: StreamEvent): string {
    switch (event.kind) {
      case 'started':
        this.#frame.start(event);
        return this.#chunk({ role: 'assistant', content: '', refusal: null });
      case 'opened':
        return this.#begin(event.part);
      case 'delta':
        return this.#add(event.delta);
      case 'closed':
        return this.#close();
      case 'usage':
        this.#usage = event.usage;
        return '';
      case 'finished':
        return this.#finish(event.finish);
      default:
        return failureEvent(event.failure);
    }
  }

  #chunk(delta: JsonObject, logprobs: JsonValue = null): string {
    return this.#frame.chunk({ index: 0, delta, logprobs, finish_reason: null });
  }

  #begin(part: OpenedPart): string {
    this.#open = part;
    this.#shift += this.#length;
    this.#length = 0;
    if (part.kind === 'whole') return this.#whole(part.part);
    if (part.kind === 'refusal') this.#hasRefusal = true;
    if (part.kind === 'reasoning') this.#thoughts = { texts: [], summary: [] };
    if (part.kind !== 'tool_call') return '';
    const { id, name, isFreeText } = part;
    this.#hasInput = false;
    this.#calls += 1;
    if (this.#isLegacy) return this.#calls === 1 ? this.#chunk({ function_call: { name, arguments: '' } }) : '';
    const called = isFreeText
      ? { type: 'custom', custom: { name, input: '' } }
      : { type: 'function', function: { name, arguments: '' } };
    return this.#chunk({ tool_calls: [{ index: this.#calls - 1, id, ...called }] });
  }

  #add(delta: PartDelta): string {
    const open = this.#open;
    if (delta.kind === 'citation') return this.#cite(writeAnnotations([delta.citation], this.#shift));
    if (open?.kind === 'reasoning') return this.#think(delta);
    if (delta.kind === 'signature' && open?.kind === 'tool_call') return this.#proveCall(delta.signature);
    if (delta.kind !== 'text') return '';
    const { text, logprobs } = delta;
    if (open?.kind === 'tool_call') return this.#addInput(text, open.isFreeText);
    if (open?.kind === 'refusal') return this.#chunk({ refusal: text });
    this.#length += text.length;
    return this.#chunk({ content: text }, logprobs === undefined ? null : { content: logprobs, refusal: null });
  }

  #addInput(text: string, isFreeText: boolean): string {
    if (text === '') return '';
    this.#hasInput = true;
    if (this.#isLegacy) return this.#calls === 1 ? this.#chunk({ function_call: { arguments: text } }) : '';
    const added = isFreeText ? { custom: { input: text } } : { function: { arguments: text } };
    return this.#chunk({ tool_calls: [{ index: this.#calls - 1, ...added }] });
  }

  #proveCall({ family, value }: Signature): string {
    if (family !== 'google' || this.#isLegacy) return '';
    // Some clients refuse a delta of a call without its function.
    const proof = { function: { arguments: '' }, extra_content: { google: { thought_signature: value } } };
    return this.#chunk({ tool_calls: [{ index: this.#calls - 1, ...proof }] });
  }

  #cite(annotations: readonly JsonObject[]): string {
    return annotations.length === 0 ? '' : this.#chunk({ annotations });
  }

  #think(delta: PartDelta): string {
    const thoughts = this.#thoughts;
    if (thoughts === undefined) return '';
    if (delta.kind === 'signature') thoughts.signature = delta.signature;
    if (delta.kind === 'encrypted') thoughts.encrypted = delta.encrypted;
    if ((delta.kind !== 'text' && delta.kind !== 'summary') || delta.text === '') return '';
    const isFirst = thoughts.texts.length === 0;
    const isNext = delta.kind === 'summary' && thoughts.summary[delta.index] === undefined;
    thoughts.texts.push(delta.text);
    if (delta.kind === 'summary') {
      while (thoughts.summary.length <= delta.index) thoughts.summary.push('');
      thoughts.summary[delta.index] += delta.text;
    }
    const gap = this.#hasThoughts && (isFirst || isNext) ? '\n\n' : '';
    this.#hasThoughts = true;
    return this.#chunk({ reasoning_content: gap + delta.text });
  }

  #close(): string {
    const open = this.#open;
    const thoughts = this.#thoughts;
    this.#open = undefined;
    this.#thoughts = undefined;
    if (open?.kind === 'tool_call' && !open.isFreeText && !this.#hasInput) return this.#addInput('{}', false);
    if (thoughts === undefined) return '';
    const { texts, summary, signature, encrypted } = thoughts;
    const text = summary.length > 0 ? '' : texts.join('');
    const extra = writeExtraContent([{ kind: 'reasoning', text, summary, signature, encrypted }]);
    return extra === undefined ? '' : this.#chunk({ extra_content: extra });
  }

  #whole(part: Part): string {
    if (part.kind === 'tool_call') {
      const { id, name, isFreeText, input, signature } = part;
      const told = this.#begin({ kind: 'tool_call', id, name, isFreeText }) + this.#addInput(input, isFreeText);
      return told + (signature === undefined ? '' : this.#proveCall(signature));
    }
    if (part.kind === 'refusal') this.#hasRefusal = true;
    if (part.kind === 'text') this.#length = part.text.length;
    const { role: _, content, refusal, reasoning_content: thoughts, ...members } = writeMessage([part], this.#isLegacy);
    const delta: JsonObject = { ...members, ...said({ content, refusal }), ...this.#gapped(thoughts) };
    const isSilent = Object.values(delta).every((value) => value === undefined);
    return isSilent ? '' : this.#chunk(delta, writeLogprobs([part]));
  }

  #gapped(thoughts: JsonValue | undefined): JsonObject {
    if (typeof thoughts !== 'string') return {};
    const gap = this.#hasThoughts ? '\n\n' : '';
    this.#hasThoughts = true;
    return { reasoning_content: gap + thoughts };
  }

  #finish(finish: Finish): string {
    const reason = writeFinish(finish, this.#hasRefusal, this.#isLegacy);
    const choice = { index: 0, delta: {}, logprobs: null, finish_reason: reason, stop_sequence: finish.stopSequence };
    return this.#frame.chunk(choice, writeRescued(finish)) + this.#frame.end(this.#usage);
  }
}

/** An error in the middle of a stream; nothing follows it. */
export function failureEvent({ message, type, code, provider }: StreamFailure): string {
  const error = { message, type: type ?? 'provider_error', param: null, code, provider };
  return `data: ${writeJson({ error })}\n\n`;
}

function said(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
