// The frame of every chunk of a streamed answer around its choice, for chat and for text completions.
import type { ConversationUsage } from '../conversation/conversation.ts';
import type { StreamEvent } from '../conversation/stream-event.ts';
import { type JsonObject, writeJson } from '../json/json.ts';
import type { AnswerContext } from '../translation.ts';
import { writeUsage } from './read/read-usage.ts';

/** The `object` of a format's chunks, and the prefix of its ids. */
export interface ChunkFormat {
  readonly object: string;
  readonly idPrefix: string;
}

export class ChunkFrame {
  readonly #context: AnswerContext;
  readonly #format: ChunkFormat;
  #head = '';
  #tail = '}\n\n';

  constructor(context: AnswerContext, format: ChunkFormat) {
    this.#context = context;
    this.#format = format;
  }

  start({ id, model, createdAt }: StreamEvent & { readonly kind: 'started' }): void {
    const { object, idPrefix } = this.#format;
    const { newId, nowSeconds, model: asked, request } = this.#context;
    const head = {
      id: id || `${idPrefix}${newId()}`,
      object,
      created: createdAt ?? nowSeconds,
      model: model || asked,
    };
    this.#head = `data: ${writeJson(head).slice(0, -1)},"choices":`;
    if (request.wantsUsage) this.#tail = ',"usage":null}\n\n';
  }

  /** A chunk with one choice. `further`: members beside it. */
  chunk(choice: JsonObject, further?: JsonObject): string {
    const beside = further === undefined ? '' : writeJson(further).slice(1, -1);
    return `${this.#head}[${writeJson(choice)}]${beside === '' ? '' : `,${beside}`}${this.#tail}`;
  }

  /** The events after the last choice: the usage, where the client wants it, and `[DONE]`. */
  end(usage: ConversationUsage | undefined): string {
    const isTold = this.#context.request.wantsUsage && usage !== undefined;
    const told = isTold ? `${this.#head}[],"usage":${writeJson(writeUsage(usage))}}\n\n` : '';
    return `${told}data: [DONE]\n\n`;
  }
}
