// A block of a stream as far as it has come: what it says at once, and what only its end can tell.
import type { ReasoningPart } from '../conversation/parts.ts';
import type { OpenedPart, PartDelta } from '../conversation/stream-event.ts';
import { isObject, type JsonObject, listOf, parseObject, textOf, writeJson } from '../json/json.ts';
import { InvalidAnswer } from '../translation.ts';
import { readCitation } from './citations.ts';
import { callOf } from './read/read-answer.ts';
import { readHidden, readThinking } from './read/read-blocks.ts';

/** Longest signature, and longest input of a tool that the provider runs. Characters. */
const mostHeld = 1024 * 1024;

export class OpenBlock {
  readonly #block: JsonObject;
  readonly #type: string;
  /** The input of a tool came in pieces. */
  #hasPieces = false;
  /** Those of a tool that only Anthropic knows. */
  #input = '';
  #signature: string;

  /** Throws an InvalidAnswer. */
  constructor(block: JsonObject | undefined) {
    const type = textOf(block?.['type']);
    if (block === undefined || type === undefined) throw new InvalidAnswer('a block of its content has no type');
    this.#block = block;
    this.#type = type;
    this.#signature = textOf(block['signature']) ?? '';
  }

  /**
   * The part that opens with the block; undefined for a block that only Anthropic knows, which is told whole at its
   * end.
   */
  opened(): OpenedPart | undefined {
    switch (this.#type) {
      case 'text':
        return { kind: 'text' };
      case 'thinking':
        return { kind: 'reasoning' };
      case 'redacted_thinking':
        return { kind: 'whole', part: readHidden(textOf(this.#block['data']) ?? '') };
      case 'tool_use':
        return { kind: 'tool_call', ...callOf(this.#block), isFreeText: false };
      default:
        return undefined;
    }
  }

  /** The deltas in the start of the block; Anthropic sends none there. */
  first(): readonly PartDelta[] {
    const text = textOf(this.#block[this.#type]) ?? '';
    const citations = this.#type === 'text' ? (listOf(this.#block['citations']) ?? []).filter(isObject) : [];
    return [
      ...(text === '' ? [] : [{ kind: 'text', text } as const]),
      ...citations.map((place) => ({ kind: 'citation', citation: readCitation(place) }) as const),
    ];
  }

  /** The addition of a delta; undefined for one that is kept until the end, and for an unknown one. */
  delta(delta: JsonObject): PartDelta | undefined {
    switch (delta['type']) {
      case 'text_delta':
        return textDelta(delta['text']);
      case 'thinking_delta':
        return textDelta(delta['thinking']);
      case 'signature_delta':
        this.#signature = grown(this.#signature, textOf(delta['signature']) ?? '');
        return undefined;
      case 'citations_delta':
        return isObject(delta['citation'])
          ? { kind: 'citation', citation: readCitation(delta['citation']) }
          : undefined;
      case 'input_json_delta': {
        const piece = textOf(delta['partial_json']) ?? '';
        this.#hasPieces ||= piece !== '';
        if (this.#type === 'tool_use') return textDelta(piece);
        this.#input = grown(this.#input, piece);
        return undefined;
      }
      default:
        return undefined;
    }
  }

  /** The deltas at the end of the block. */
  last(): readonly PartDelta[] {
    if (this.#type === 'tool_use') {
      // A server that gives the input at once sends no pieces of it.
      return this.#hasPieces ? [] : [{ kind: 'text', text: writeJson(this.#block['input'] ?? {}) }];
    }
    if (this.#type !== 'thinking' || this.#signature === '') return [];
    const { signature, encrypted }: ReasoningPart = readThinking('', this.#signature);
    if (signature !== undefined) return [{ kind: 'signature', signature }];
    return encrypted === undefined ? [] : [{ kind: 'encrypted', encrypted }];
  }

  /** The block as a whole, with the input that came in pieces. */
  whole(): OpenedPart {
    const input = this.#hasPieces ? parseObject(this.#input) : undefined;
    const value = input === undefined ? this.#block : { ...this.#block, input };
    return { kind: 'whole', part: { kind: 'foreign', dialect: 'messages', name: this.#type, value } };
  }
}

function textDelta(text: unknown): PartDelta | undefined {
  return typeof text === 'string' && text !== '' ? { kind: 'text', text } : undefined;
}

/** A text that is read when all of it is there. Throws an InvalidAnswer for one that is too long. */
function grown(text: string, piece: string): string {
  if (text.length + piece.length > mostHeld) throw new InvalidAnswer('a block of it is too long to be translated');
  return text + piece;
}
