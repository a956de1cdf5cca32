// Writes the chunks of a streamed text completion.
import { writeFinish } from '../chat/finish.ts';
import { writeUsage } from '../chat/read-usage.ts';
import { failureEvent } from '../chat/write-events.ts';
import type { ConversationUsage, Finish } from '../conversation/conversation.ts';
import type { Part } from '../conversation/parts.ts';
import type { StreamEvent } from '../conversation/stream-event.ts';
import { writeJson } from '../json.ts';
import type { AnswerContext, EventWriter } from '../translation.ts';

/** Tells texts and refusals; thoughts and tools have no place here. */
export class CompletionWriter implements EventWriter {
  readonly #context: AnswerContext;
  #head = '';
  #tail = '}\n\n';
  #isText = false;
  #usage: ConversationUsage | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  write(event: StreamEvent): string {
    switch (event.kind) {
      case 'started':
        this.#start(event);
        return '';
      case 'opened':
        this.#isText = isText(event.part.kind);
        return event.part.kind === 'whole' ? this.#whole(event.part.part) : '';
      case 'delta':
        return this.#isText && event.delta.kind === 'text' ? this.#chunk(event.delta.text, null) : '';
      case 'closed':
        this.#isText = false;
        return '';
      case 'usage':
        this.#usage = event.usage;
        return '';
      case 'finished':
        return this.#finish(event.finish);
      default:
        return failureEvent(event.failure);
    }
  }

  #start({ id, model, createdAt }: StreamEvent & { readonly kind: 'started' }): void {
    const { newId, nowSeconds, model: asked, request } = this.#context;
    const head = {
      id: id || `cmpl-${newId()}`,
      object: 'text_completion',
      created: createdAt ?? nowSeconds,
      model: model || asked,
    };
    this.#head = `data: ${writeJson(head).slice(0, -1)},"choices":`;
    if (request.wantsUsage) this.#tail = ',"usage":null}\n\n';
  }

  #whole(part: Part): string {
    return part.kind === 'text' || part.kind === 'refusal' ? this.#chunk(part.text, null) : '';
  }

  #chunk(text: string, finish: string | null): string {
    const choice = { text, index: 0, logprobs: null, finish_reason: finish };
    return `${this.#head}[${writeJson(choice)}]${this.#tail}`;
  }

  #finish(finish: Finish): string {
    const ended = this.#chunk('', writeFinish(finish, true, false));
    const usage = this.#context.request.wantsUsage ? this.#usage : undefined;
    const told = usage === undefined ? '' : `${this.#head}[],"usage":${writeJson(writeUsage(usage))}}\n\n`;
    return `${ended}${told}data: [DONE]\n\n`;
  }
}

function isText(kind: string): boolean {
  return kind === 'text' || kind === 'refusal';
}
