// Writes an answer as the event stream of the Responses format. The last event holds the whole output, so it is kept as it grows.
import type { ConversationUsage, Finish } from '../conversation/conversation.ts';
import type { Part } from '../conversation/parts.ts';
import type { OpenedPart, StreamEvent, StreamFailure } from '../conversation/stream-event.ts';
import { FreeTextRestorer } from '../free-text-tools.ts';
import { type JsonObject, writeJson } from '../json.ts';
import type { AnswerContext, EventWriter } from '../translation.ts';
import { GrowingCall, type GrowingItem, GrowingMessage, GrowingReasoning, type ItemEvent } from './growing-items.ts';
import type { ItemStatus } from './output-items.ts';
import {
  incompleteReason,
  type ResponseHead,
  type ResponseState,
  responseHead,
  responseObject,
} from './response-object.ts';
import { writeItems } from './write-answer.ts';

/**
 * Every event that OpenAI sends, but for padding. The end of an item is told when the next one begins, or at the end of the answer, when
 * it is known whether the item is complete.
 */
export class ResponsesEventWriter implements EventWriter {
  /** The end of an item repeats it three times, and the end of the answer all items. */
  readonly mostContent = 4 * 1024 * 1024;
  readonly #context: AnswerContext;
  readonly #restorer: FreeTextRestorer;
  readonly #output: JsonObject[] = [];
  #head: ResponseHead | undefined;
  #item: GrowingItem | undefined;
  #hasRefusal = false;
  #usage: ConversationUsage | undefined;
  #sequence = 0;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#restorer = new FreeTextRestorer(context.request);
  }

  write(event: StreamEvent): string {
    return this.#restorer
      .push(event)
      .map((each) => this.#write(each))
      .join('');
  }

  #write(event: StreamEvent): string {
    switch (event.kind) {
      case 'started':
        return this.#start(event);
      case 'opened':
        return this.#open(event.part);
      case 'delta':
        return this.#tell(this.#item?.add(event.delta) ?? []);
      case 'closed':
        return this.#tell(this.#item?.endPart() ?? []);
      case 'usage':
        this.#usage = event.usage;
        return '';
      case 'finished':
        return this.#finish(event.finish);
      default:
        return this.#fail(event.failure);
    }
  }

  #start(known: { readonly id: string; readonly model: string; readonly createdAt?: number | undefined }): string {
    this.#head = responseHead(known, this.#context);
    const response = responseObject(this.#head, { output: [] }, this.#context);
    return this.#say('created', { response }) + this.#say('in_progress', { response });
  }

  #open(part: OpenedPart): string {
    const { newId, request } = this.#context;
    switch (part.kind) {
      case 'text':
      case 'refusal':
        return this.#openSpoken(part.kind);
      case 'tool_call':
        return this.#begin(new GrowingCall({ ...part, input: '' }, newId));
      case 'reasoning':
        return this.#begin(new GrowingReasoning(newId, request.thinking?.summary !== undefined));
      default:
        return this.#openWhole(part.part);
    }
  }

  #openSpoken(kind: 'text' | 'refusal'): string {
    if (kind === 'refusal') this.#hasRefusal = true;
    const message = this.#item instanceof GrowingMessage ? this.#item : new GrowingMessage(this.#context.newId);
    const begun = message === this.#item ? '' : this.#begin(message);
    return begun + this.#tell(message.beginPart(kind));
  }

  /** The beginning, where it is not told yet: an answer may fail before it. */
  #begun(): string {
    return this.#head === undefined ? this.#start({ id: '', model: '' }) : '';
  }

  #finish(finish: Finish): string {
    const status = incompleteReason(finish, this.#hasRefusal) === undefined ? 'completed' : 'incomplete';
    return this.#endItem(status) + this.#end(status, { finish });
  }

  /** Some clients look for the error alone, others for the answer that failed; OpenAI sends both. */
  #fail(failure: StreamFailure): string {
    const { message, code, type, provider } = failure;
    const error = { message, type: type ?? 'provider_error', param: null, code, provider };
    const before = this.#begun() + this.#endItem('incomplete');
    const told = this.#sayNamed('error', { code, message, param: null, error });
    return before + told + this.#end('failed', { failure });
  }

  /** A part that comes as a whole: words as if they came in pieces, other items with their beginning and end alone. */
  #openWhole(part: Part): string {
    if (part.kind === 'text' || part.kind === 'refusal') {
      const { text } = part;
      const logprobs = part.kind === 'text' ? part.logprobs : undefined;
      return this.#openSpoken(part.kind) + this.#tell(this.#item?.add({ kind: 'text', text, logprobs }) ?? []);
    }
    const before = this.#endItem('completed');
    return (
      before +
      writeItems(part, this.#context)
        .map((item) => this.#wholeItem(item, item))
        .join('')
    );
  }

  #begin(item: GrowingItem): string {
    const before = this.#endItem('completed');
    this.#item = item;
    return before + this.#say('output_item.added', { output_index: this.#output.length, item: item.begun() });
  }

  #endItem(status: ItemStatus): string {
    const growing = this.#item;
    if (growing === undefined) return '';
    this.#item = undefined;
    const [item, ...further] = growing.ended(status);
    return this.#wholeItem(item) + further.map((each) => this.#wholeItem(each, each)).join('');
  }

  /** The end of an item, and its beginning where that was not told yet. */
  #wholeItem(item: JsonObject, begun?: JsonObject): string {
    const output_index = this.#output.length;
    this.#output.push(item);
    const added = begun === undefined ? '' : this.#say('output_item.added', { output_index, item: begun });
    return added + this.#say('output_item.done', { output_index, item });
  }

  #tell(events: readonly ItemEvent[]): string {
    const at = { item_id: this.#item?.id ?? '', output_index: this.#output.length };
    return events.map(([type, members]) => this.#say(type, { ...at, ...members })).join('');
  }

  #end(type: 'completed' | 'incomplete' | 'failed', state: Pick<ResponseState, 'finish' | 'failure'>): string {
    const begun = this.#begun();
    const head = this.#head ?? responseHead({ id: '', model: '' }, this.#context);
    const response = responseObject(head, { ...state, output: this.#output, usage: this.#usage }, this.#context);
    return begun + this.#say(type, { response });
  }

  #say(name: string, members: JsonObject): string {
    return this.#sayNamed(`response.${name}`, members);
  }

  #sayNamed(type: string, members: JsonObject): string {
    const data = writeJson({ type, sequence_number: this.#sequence, ...members });
    this.#sequence += 1;
    return `event: ${type}\ndata: ${data}\n\n`;
  }
}
