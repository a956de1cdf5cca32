// Writes the chunks of a streamed text completion.
import { ChunkFrame } from '../chat/chunk-frame.ts';
import { writeFinish } from '../chat/finish.ts';
import { failureEvent } from '../chat/write-events.ts';
import type { ConversationUsage, Finish } from '../conversation/conversation.ts';
import type { Part } from '../conversation/parts.ts';
import type { StreamEvent } from '../conversation/stream-event.ts';
import type { AnswerContext, EventWriter } from '../translation.ts';

const format = { object: 'text_completion', idPrefix: 'cmpl-' };

/** Tells texts and refusals; thoughts and tools have no place here. */
export class CompletionWriter implements EventWriter {
  readonly #frame: ChunkFrame;
  #isText = false;
  #usage: ConversationUsage | undefined;

  constructor(context: AnswerContext) {
    this.#frame = new ChunkFrame(context, format);
  }

  write(event: StreamEvent): readonly string[] {
    return [this.#write(event)];
  }

  #write(event: StreamEvent): string {
    switch (event.kind) {
      case 'started':
        this.#frame.start(event);
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

  #whole(part: Part): string {
    return part.kind === 'text' || part.kind === 'refusal' ? this.#chunk(part.text, null) : '';
  }

  #chunk(text: string, finish: string | null): string {
    return this.#frame.chunk({ text, index: 0, logprobs: null, finish_reason: finish });
  }

  #finish(finish: Finish): string {
    return this.#chunk('', writeFinish(finish, true, false)) + this.#frame.end(this.#usage);
  }
}

function isText(kind: string): boolean {
  return kind === 'text' || kind === 'refusal';
}
