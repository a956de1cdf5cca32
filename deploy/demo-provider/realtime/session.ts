// A realtime session: reads the events of a client and answers each of them, with an error event where it cannot.
import { setTimeout as sleep } from 'node:timers/promises';
import { digest } from '../answers.ts';
import type { Turn } from '../conversation.ts';
import { invalid } from '../openai/openai.ts';
import { type Body, isList, isObject } from '../requests.ts';
import { describeError, readEvent, readSession, refuseEvent, soundBytesIn } from './events.ts';
import {
  addItem,
  type Item,
  type Items,
  idBefore,
  indexOf,
  type Kept,
  readNewItem,
  requireRoom,
  soundItem,
  turnsOf,
} from './items.ts';
import { type Responding, streamRealtime } from './response.ts';
import { askedWith, changeSettings, defaultSettings, describeSession } from './settings.ts';
import { sampleBytes, sampleRate } from './sound.ts';

/** Where events go. */
export type Line = {
  /** Resolves when the text is on its way. */
  readonly send: (text: string) => Promise<void>;
  readonly isOpen: () => boolean;
};

export type Opening = {
  /** Unlike that of any other session: ids are made of it. */
  readonly seed: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly expiresAt: number;
  /** Before each token. Milliseconds. */
  readonly intervalMs: number;
};

const bytesPerMs = (sampleRate * sampleBytes) / 1000;
/** Sound that waits to be committed is counted and dropped; this much of it, in milliseconds. */
const mostSoundMs = 120_000;
const leastSoundMs = 100;

/** Begins with `session.created`. */
export class RealtimeSession {
  readonly #line: Line;
  readonly #opening: Opening;
  readonly #id: string;
  readonly #conversationId: string;
  readonly #answers: Readonly<Record<string, (event: Body) => void>> = {
    'session.update': ({ session }) => this.#update(session),
    'conversation.item.create': (event) =>
      this.#take(readNewItem(event['item'], this.#nextId('item')), event['previous_item_id']),
    'conversation.item.retrieve': ({ item_id: id }) =>
      this.#say('conversation.item.retrieved', { item: this.#items[indexOf(this.#items, id)]?.item }),
    'conversation.item.delete': ({ item_id: id }) => this.#drop(id),
    'input_audio_buffer.append': ({ audio }) => this.#append(soundBytesIn(audio)),
    'input_audio_buffer.clear': () => this.#clear(),
    'input_audio_buffer.commit': () => this.#commit(),
    'response.create': ({ response }) => this.#respond(isObject(response) ? response : {}),
    'response.cancel': () => this.#cancel(),
  };
  #settings = defaultSettings;
  #items: Items = [];
  #soundBytes = 0;
  #active: { isCancelled: boolean } | undefined;
  #made = 0;

  constructor(line: Line, opening: Opening) {
    this.#line = line;
    this.#opening = opening;
    this.#id = this.#nextId('sess');
    this.#conversationId = this.#nextId('conv');
    this.#say('session.created', { session: this.#describe() });
  }

  /** Answers an event; never throws. */
  hear(text: string): void {
    const event = readEvent(text);
    try {
      const type = String(event?.['type']);
      const answer = Object.hasOwn(this.#answers, type) ? this.#answers[type] : undefined;
      if (answer === undefined || event === undefined) throw refuseEvent(event, Object.keys(this.#answers));
      answer(event);
    } catch (error) {
      this.#say('error', { error: describeError(error, event) });
    }
  }

  #update(session: unknown): void {
    this.#settings = changeSettings(this.#settings, readSession(session, this.#opening.model), 'session');
    this.#say('session.updated', { session: this.#describe() });
  }

  #take(added: Kept, after?: unknown): void {
    this.#items = addItem(this.#items, added, after);
    const told = { previous_item_id: idBefore(this.#items, added.item.id), item: added.item };
    this.#say('conversation.item.added', told);
    this.#say('conversation.item.done', told);
  }

  #drop(id: unknown): void {
    this.#items = this.#items.toSpliced(indexOf(this.#items, id), 1);
    this.#say('conversation.item.deleted', { item_id: id });
  }

  #append(bytes: number): void {
    if (this.#soundBytes + bytes > mostSoundMs * bytesPerMs) {
      throw invalid('audio', `The demo takes ${mostSoundMs / 1000} s of sound before a commit.`);
    }
    this.#soundBytes += bytes;
  }

  #clear(): void {
    this.#soundBytes = 0;
    this.#say('input_audio_buffer.cleared', {});
  }

  #commit(): void {
    const ms = this.#soundBytes / bytesPerMs;
    if (ms < leastSoundMs) {
      const message = `Error committing input audio buffer: buffer too small. Expected at least ${leastSoundMs}ms of audio, but buffer only has ${ms.toFixed(2)}ms of audio.`;
      throw invalid('audio', message, 'input_audio_buffer_commit_empty');
    }
    requireRoom(this.#items);
    const item = soundItem(this.#nextId('item'), this.#soundBytes);
    this.#soundBytes = 0;
    this.#say('input_audio_buffer.committed', { previous_item_id: this.#lastId(), item_id: item.item.id });
    this.#take(item);
  }

  #cancel(): void {
    if (this.#active === undefined || this.#active.isCancelled) {
      throw invalid('response_id', 'Cancellation failed: no active response found.', 'response_cancel_not_active');
    }
    this.#active.isCancelled = true;
  }

  #respond(asked: Body): void {
    if (this.#active !== undefined) {
      const message = 'Conversation already has an active response in progress. Wait until it is finished.';
      throw invalid('response', message, 'conversation_already_has_active_response');
    }
    const settings = changeSettings(this.#settings, asked, 'response');
    const isApart = asked['conversation'] === 'none';
    if (!isApart) requireRoom(this.#items);
    const turns = [...instructionTurns(settings.instructions), ...this.#turnsFor(asked['input'])];
    const active = { isCancelled: false };
    this.#active = active;
    const responding: Responding = {
      id: this.#nextId('resp'),
      conversationId: isApart ? null : this.#conversationId,
      conversation: { ...askedWith(settings), model: this.#opening.model, turns },
      settings,
      metadata: asked['metadata'],
      nextId: (prefix) => this.#nextId(prefix),
      isCancelled: () => active.isCancelled,
      lastId: () => this.#lastId(),
      keep: (item) => this.#keep(item),
    };
    this.#stream(responding).catch((error: unknown) => {
      this.#active = undefined;
      this.#say('error', { error: describeError(error, undefined) });
    });
  }

  /** The turns that the model reads: the items of a response of its own, or the conversation. */
  #turnsFor(input: unknown): Turn[] {
    if (!isList(input)) return turnsOf(this.#items);
    return input.flatMap((item, index) => readNewItem(item, this.#nextId('item'), `response.input[${index}]`).turns);
  }

  async #stream(responding: Responding): Promise<void> {
    const { intervalMs } = this.#opening;
    for (const { data, isToken } of streamRealtime(responding)) {
      if (isToken === true && intervalMs > 0) await sleep(intervalMs);
      if (!this.#line.isOpen()) return;
      const isLast = 'type' in data && data.type === 'response.done';
      // Who has read the last event may ask again.
      if (isLast) this.#active = undefined;
      await this.#line.send(this.#write(data));
    }
  }

  #keep(item: Item): void {
    this.#items = [...this.#items, { item, turns: readNewItem(item, item.id).turns }];
  }

  #lastId(): string | null {
    return this.#items.at(-1)?.item.id ?? null;
  }

  #describe(): object {
    const { model, expiresAt } = this.#opening;
    return describeSession(this.#settings, this.#id, model, expiresAt);
  }

  #say(type: string, members: object): void {
    void this.#line.send(this.#write({ type, ...members }));
  }

  #write(event: object): string {
    return JSON.stringify({ event_id: this.#nextId('event'), ...event });
  }

  #nextId(prefix: string): string {
    this.#made += 1;
    return `${prefix}_${digest(`${this.#opening.seed} ${this.#made}`).slice(0, 21)}`;
  }
}

function instructionTurns(text: string): Turn[] {
  return text === '' ? [] : [{ role: 'system', parts: [{ kind: 'text', text }] }];
}
