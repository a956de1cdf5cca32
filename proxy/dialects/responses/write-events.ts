// Writes an answer as the event stream of the Responses format. The last event holds the whole output, so it is kept as it grows.
import type { ConversationUsage, Finish } from '../conversation/conversation.ts';
import type { Part } from '../conversation/parts.ts';
import type { OpenedPart, StreamEvent, StreamFailure } from '../conversation/stream-event.ts';
import { type JsonObject, writeJson } from '../json/json.ts';
import { jsonPieces } from '../json/write-json.ts';
import { writeRescued } from '../rescued.ts';
import { FreeTextRestorer } from '../tools/free-text-tools.ts';
import type { AnswerContext, EventWriter } from '../translation.ts';
import { GrowingCall, type GrowingItem, GrowingMessage, GrowingReasoning, type ItemEvent } from './growing-items.ts';
import { calledAs, type ItemStatus } from './output-items.ts';
import {
  incompleteReason,
  type ResponseHead,
  type ResponseState,
  responseHead,
  responseObject,
} from './response-object.ts';
import { writeItems } from './write-answer.ts';

/** Of a longer answer, what repeats it is written in pieces, each about so long. Characters. */
const longLength = 64 * 1024;

type Texts = Generator<string, void, undefined>;

/**
 * Every event that OpenAI sends, but for padding. The end of an item is told when the next one begins, or at the end of the answer, when
 * it is known whether the item is complete.
 */
export class ResponsesEventWriter implements EventWriter {
  /** The end of an item repeats it three times, and the end of the answer all items. Two of the longest events. */
  readonly mostContent = 8 * 1024 * 1024;
  readonly #context: AnswerContext;
  readonly #restorer: FreeTextRestorer;
  readonly #output: JsonObject[] = [];
  #head: ResponseHead | undefined;
  #item: GrowingItem | undefined;
  #hasRefusal = false;
  #usage: ConversationUsage | undefined;
  #sequence = 0;
  /** Characters. */
  #toldLength = 0;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#restorer = new FreeTextRestorer(context.request);
  }

  *write(event: StreamEvent): Texts {
    for (const each of this.#restorer.push(event)) yield* this.#write(each);
  }

  #write(event: StreamEvent): Iterable<string> {
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
        return [];
      case 'finished':
        return this.#finish(event.finish);
      default:
        return this.#fail(event.failure);
    }
  }

  *#start(known: { readonly id: string; readonly model: string; readonly createdAt?: number | undefined }): Texts {
    this.#head = responseHead(known, this.#context);
    const response = responseObject(this.#head, { output: [] }, this.#context);
    yield* this.#say('created', { response });
    yield* this.#say('in_progress', { response });
  }

  *#open(part: OpenedPart): Texts {
    const { newId, request } = this.#context;
    switch (part.kind) {
      case 'text':
      case 'refusal':
        yield* this.#openSpoken(part.kind);
        break;
      case 'tool_call':
        yield* this.#begin(new GrowingCall({ ...part, input: '' }, newId, calledAs(request, part.name)));
        break;
      case 'reasoning':
        yield* this.#begin(new GrowingReasoning(newId, request.thinking?.summary !== undefined));
        break;
      default:
        yield* this.#openWhole(part.part);
    }
  }

  *#openSpoken(kind: 'text' | 'refusal'): Texts {
    if (kind === 'refusal') this.#hasRefusal = true;
    const message = this.#item instanceof GrowingMessage ? this.#item : new GrowingMessage(this.#context.newId);
    if (message !== this.#item) yield* this.#begin(message);
    yield* this.#tell(message.beginPart(kind));
  }

  /** The beginning, where it is not told yet: an answer may fail before it. */
  *#begun(): Texts {
    if (this.#head === undefined) yield* this.#start({ id: '', model: '' });
  }

  *#finish(finish: Finish): Texts {
    const status = incompleteReason(finish, this.#hasRefusal) === undefined ? 'completed' : 'incomplete';
    yield* this.#endItem(status);
    yield* this.#end(status, { finish });
  }

  /** Some clients look for the error alone, others for the answer that failed; OpenAI sends both. */
  *#fail(failure: StreamFailure): Texts {
    const { message, code, type, provider } = failure;
    const error = { message, type: type ?? 'provider_error', param: null, code, provider };
    yield* this.#begun();
    yield* this.#endItem('incomplete');
    yield* this.#sayNamed('error', { code, message, param: null, error });
    yield* this.#end('failed', { failure });
  }

  /** A part that comes as a whole: words as if they came in pieces, other items with their beginning and end alone. */
  *#openWhole(part: Part): Texts {
    if (part.kind === 'text' || part.kind === 'refusal') {
      const { text } = part;
      const logprobs = part.kind === 'text' ? part.logprobs : undefined;
      yield* this.#openSpoken(part.kind);
      yield* this.#tell(this.#item?.add({ kind: 'text', text, logprobs }) ?? []);
    } else {
      yield* this.#endItem('completed');
      for (const item of writeItems(part, this.#context)) yield* this.#wholeItem(item, item);
    }
  }

  *#begin(item: GrowingItem): Texts {
    yield* this.#endItem('completed');
    this.#item = item;
    yield* this.#say('output_item.added', { output_index: this.#output.length, item: item.begun() });
  }

  *#endItem(status: ItemStatus): Texts {
    const growing = this.#item;
    if (growing === undefined) return;
    this.#item = undefined;
    const [item, ...further] = growing.ended(status);
    yield* this.#wholeItem(item);
    for (const each of further) yield* this.#wholeItem(each, each);
  }

  /** The end of an item, and its beginning where that was not told yet. */
  *#wholeItem(item: JsonObject, begun?: JsonObject): Texts {
    const output_index = this.#output.length;
    this.#output.push(item);
    if (begun !== undefined) yield* this.#say('output_item.added', { output_index, item: begun });
    yield* this.#say('output_item.done', { output_index, item });
  }

  *#tell(events: readonly ItemEvent[]): Texts {
    const at = { item_id: this.#item?.id ?? '', output_index: this.#output.length };
    for (const [type, members] of events) yield* this.#say(type, { ...at, ...members });
  }

  *#end(type: 'completed' | 'incomplete' | 'failed', state: Pick<ResponseState, 'finish' | 'failure'>): Texts {
    yield* this.#begun();
    const head = this.#head ?? responseHead({ id: '', model: '' }, this.#context);
    const response = responseObject(head, { ...state, output: this.#output, usage: this.#usage }, this.#context);
    yield* this.#say(type, { response, ...(state.finish && writeRescued(state.finish)) });
  }

  #say(name: string, members: JsonObject): Iterable<string> {
    return this.#sayNamed(`response.${name}`, members);
  }

  #sayNamed(type: string, members: JsonObject): Iterable<string> {
    const value = { type, sequence_number: this.#sequence, ...members };
    this.#sequence += 1;
    // A delta came in one event of the provider; an event that repeats the answer may be as long as the answer.
    if ('delta' in members || this.#toldLength <= longLength) {
      const data = writeJson(value);
      this.#toldLength += data.length;
      return [`event: ${type}\ndata: ${data}\n\n`];
    }
    return inPieces(type, value);
  }
}

function* inPieces(type: string, value: JsonObject): Texts {
  yield `event: ${type}\ndata: `;
  yield* jsonPieces(value, longLength);
  yield '\n\n';
}
