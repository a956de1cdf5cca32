// One response of a realtime session as its events, from `response.created` to `response.done`.
import type { Conversation } from '../conversation.ts';
import type { Streamed } from '../http.ts';
import type { Noun } from '../media/media.ts';
import { answer, countInput, type Said } from '../model.ts';
import type { Item } from './items.ts';
import { describeSound, type Settings } from './settings.ts';
import { soundOf } from './sound.ts';

export type Responding = {
  readonly id: string;
  /** Null: the conversation does not get the answer. */
  readonly conversationId: string | null;
  readonly conversation: Conversation;
  readonly settings: Settings;
  readonly metadata: unknown;
  readonly nextId: (prefix: string) => string;
  readonly isCancelled: () => boolean;
  /** The id of the last item of the conversation; null: it has none. */
  readonly lastId: () => string | null;
  /** Takes an item that is complete into the conversation. */
  readonly keep: (item: Item) => void;
};

type Spoken = { readonly item: Item; readonly tokens: number };
type ItemPlace = { readonly response_id: string; readonly item_id: string; readonly output_index: number };

/** Each event waits for its turn when it carries a token. A cancelled response ends with what was said of it. */
export function* streamRealtime(responding: Responding): Generator<Streamed> {
  const { conversation, isCancelled } = responding;
  const { said, finish } = answer(conversation);
  yield event('response.created', { response: describe(responding, 'in_progress', [], 0) });
  const done: Spoken[] = [];
  for (const [index, part] of said.entries()) {
    if (isCancelled()) break;
    const isCut = finish === 'length' && index === said.length - 1;
    done.push(yield* sayPart(part, index, isCut, responding));
  }
  const ending = isCancelled() ? 'cancelled' : finish === 'length' ? 'incomplete' : 'completed';
  const items = done.map(({ item }) => item);
  const tokens = done.reduce((sum, part) => sum + part.tokens, 0);
  yield event('response.done', { response: describe(responding, ending, items, tokens) });
}

function event(type: string, members: object): Streamed {
  return { data: { type, ...members } };
}

function* sayPart(said: Said, index: number, isCut: boolean, responding: Responding): Generator<Streamed, Spoken> {
  const { id, nextId, settings, isCancelled, lastId, keep, conversationId } = responding;
  const isText = said.kind !== 'call';
  const own = { id: nextId('item'), object: 'realtime.item' };
  const begun: Item = isText
    ? { ...own, type: 'message', status: 'in_progress', role: 'assistant', content: [] }
    : { ...own, type: 'function_call', status: 'in_progress', name: said.name, call_id: nextId('call'), arguments: '' };
  const place: ItemPlace = { response_id: id, item_id: begun.id, output_index: index };
  const whole = { response_id: id, output_index: index };
  const before = { previous_item_id: lastId() };
  yield event('response.output_item.added', { ...whole, item: begun });
  if (conversationId !== null) yield event('conversation.item.added', { ...before, item: begun });
  const write = isText ? (settings.modality === 'audio' ? sayAloud : sayText) : callTool;
  const tokens = yield* write(said, place, begun, isCancelled);
  const status = isCut || tokens < said.tokens.length ? 'incomplete' : 'completed';
  const text = said.tokens.slice(0, tokens).join('');
  const content = [
    settings.modality === 'audio' ? { type: 'output_audio', transcript: text } : { type: 'output_text', text },
  ];
  const item: Item = { ...begun, status, ...(isText ? { content } : { arguments: text }) };
  if (conversationId !== null) {
    keep(item);
    yield event('conversation.item.done', { ...before, item });
  }
  yield event('response.output_item.done', { ...whole, item });
  return { item, tokens };
}

/** How many tokens were said. */
type Saying = (said: Said, place: ItemPlace, item: Item, isCancelled: () => boolean) => Generator<Streamed, number>;

const sayText: Saying = function* (said, place, _, isCancelled) {
  const at = { ...place, content_index: 0 };
  yield event('response.content_part.added', { ...at, part: { type: 'text', text: '' } });
  const spoken: string[] = [];
  for (const delta of said.tokens) {
    if (isCancelled()) break;
    spoken.push(delta);
    yield { ...event('response.output_text.delta', { ...at, delta }), isToken: true };
  }
  const text = spoken.join('');
  yield event('response.output_text.done', { ...at, text });
  yield event('response.content_part.done', { ...at, part: { type: 'text', text } });
  return spoken.length;
};

const sayAloud: Saying = function* (said, place, _, isCancelled) {
  const at = { ...place, content_index: 0 };
  yield event('response.content_part.added', { ...at, part: { type: 'audio', transcript: '' } });
  const spoken: string[] = [];
  for (const delta of said.tokens) {
    if (isCancelled()) break;
    yield { ...event('response.output_audio_transcript.delta', { ...at, delta }), isToken: true };
    yield event('response.output_audio.delta', { ...at, delta: soundOf(spoken.length) });
    spoken.push(delta);
  }
  const transcript = spoken.join('');
  yield event('response.output_audio.done', at);
  yield event('response.output_audio_transcript.done', { ...at, transcript });
  yield event('response.content_part.done', { ...at, part: { type: 'audio', transcript } });
  return spoken.length;
};

const callTool: Saying = function* (said, place, item, isCancelled) {
  const at = { ...place, call_id: item['call_id'] };
  const spoken: string[] = [];
  for (const delta of said.tokens) {
    if (isCancelled()) break;
    spoken.push(delta);
    yield { ...event('response.function_call_arguments.delta', { ...at, delta }), isToken: true };
  }
  const done = { ...at, name: item['name'], arguments: spoken.join('') };
  yield event('response.function_call_arguments.done', done);
  return spoken.length;
};

type Status = 'in_progress' | 'completed' | 'incomplete' | 'cancelled';

function describe(responding: Responding, status: Status, output: readonly Item[], tokens: number): object {
  const { id, conversationId, settings, metadata, conversation } = responding;
  const reasons: Partial<Record<Status, string>> = { incomplete: 'max_output_tokens', cancelled: 'client_cancelled' };
  const reason = reasons[status];
  return {
    object: 'realtime.response',
    id,
    status,
    status_details: reason === undefined ? null : { type: status, reason },
    output,
    conversation_id: conversationId,
    output_modalities: [settings.modality],
    max_output_tokens: settings.limit,
    audio: { output: describeSound(settings.voice) },
    usage: status === 'in_progress' ? null : usageOf(conversation, settings, tokens),
    metadata: metadata ?? null,
  };
}

/** The usage by kind; a sound and a picture have a fixed number of tokens. */
function usageOf(conversation: Conversation, { modality }: Settings, output: number): object {
  const input = countInput(conversation);
  const without = (noun: Noun): number =>
    countInput({
      ...conversation,
      turns: conversation.turns.map(({ role, parts }) => ({
        role,
        parts: parts.filter((part) => part.kind !== 'media' || part.noun !== noun),
      })),
    });
  const [audio, image] = [input - without('sound'), input - without('image')];
  const cached = { text_tokens: 0, audio_tokens: 0, image_tokens: 0 };
  return {
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    input_token_details: {
      text_tokens: input - audio - image,
      audio_tokens: audio,
      image_tokens: image,
      cached_tokens: 0,
      cached_tokens_details: cached,
    },
    output_token_details: {
      text_tokens: modality === 'text' ? output : 0,
      audio_tokens: modality === 'audio' ? output : 0,
    },
  };
}
