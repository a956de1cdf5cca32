// Reads the events of a stream of Anthropic's Messages.
import type { Finish } from '../../conversation/conversation.ts';
import type { StreamEvent } from '../../conversation/stream-event.ts';
import { type JsonObject, numberOf, objectOf, parseObject, textOf } from '../../json/json.ts';
import { type EventReader, InvalidAnswer, type RawEvent } from '../../translation.ts';
import { WaitingEvents } from '../../waiting-events.ts';
import { readFinish } from '../finish.ts';
import { OpenBlock } from '../open-block.ts';
import { readFailure } from './read-error.ts';
import { mergeUsage, readUsage } from './read-usage.ts';

const none: readonly StreamEvent[] = [];

/** Of one answer. Blocks are told one after the other: the events of one that begins before another has ended wait for it. */
export class MessagesReader implements EventReader {
  #isStarted = false;
  /** `finished` or `failed` was told. */
  #isOver = false;
  /** Number of the next part. */
  #next = 0;
  #open: OpenBlock | undefined;
  /** The index of the open block; undefined: the server does not count its blocks. */
  #openIndex: number | undefined;
  readonly #waiting = new WaitingEvents();
  /** The open block was told of; one that only Anthropic knows is told at its end. */
  #isTold = false;
  #usage: JsonObject = {};
  #finish: Finish | undefined;

  read({ event, data }: RawEvent): readonly StreamEvent[] {
    if (this.#isOver) return none;
    const said = parseObject(data);
    if (said === undefined) throw new InvalidAnswer('an event is no JSON object');
    const type = textOf(said['type']) ?? event;
    switch (type) {
      case 'message_start':
        return this.#start(objectOf(said['message']) ?? {});
      case 'content_block_start':
      case 'content_block_delta':
      case 'content_block_stop':
        return this.#route(type, said, data.length);
      case 'message_delta':
        return [...this.#begin(), ...this.#end(objectOf(said['delta']) ?? {}, objectOf(said['usage']))];
      case 'message_stop':
        return this.#stop();
      case 'error':
        return this.#fail(said, data);
      default:
        return none;
    }
  }

  /** The reason to stop says that the answer is complete, also when the connection ends before the last event. */
  end(): readonly StreamEvent[] {
    return this.#isOver || this.#finish === undefined ? none : this.#stop();
  }

  #start(message: JsonObject): readonly StreamEvent[] {
    if (this.#isStarted) return none;
    this.#isStarted = true;
    const started = {
      kind: 'started',
      id: textOf(message['id']) ?? '',
      model: textOf(message['model']) ?? '',
    } as const;
    return [started, ...this.#count(objectOf(message['usage']))];
  }

  /** Some servers forget the beginning. */
  #begin(): readonly StreamEvent[] {
    return this.#isStarted ? none : this.#start({});
  }

  #route(type: string, said: JsonObject, length: number): readonly StreamEvent[] {
    const index = numberOf(said['index']);
    if (this.#open !== undefined && index !== undefined && this.#openIndex !== undefined && index !== this.#openIndex) {
      this.#waiting.add(index, { ...said, type }, length);
      return none;
    }
    const begun = this.#begin();
    const grown = this.#grow(type, said);
    const events = begun.length === 0 ? grown : [...begun, ...grown];
    return type === 'content_block_stop' ? [...events, ...this.#goOn()] : events;
  }

  /** An event of the open block, or of the next one when none is open. */
  #grow(type: string, said: JsonObject): readonly StreamEvent[] {
    if (type === 'content_block_delta') return this.#delta(objectOf(said['delta']) ?? {});
    const closed = this.#closeBlock();
    if (type === 'content_block_stop') return closed;
    this.#openIndex = numberOf(said['index']);
    return [...closed, ...this.#openBlock(objectOf(said['content_block']))];
  }

  /** The events that waited, block after block, up to one that has not ended. */
  #goOn(): readonly StreamEvent[] {
    const told: StreamEvent[] = [];
    while (this.#open === undefined) {
      const next = this.#waiting.take();
      if (next === undefined) break;
      for (const said of next[1]) for (const event of this.#grow(textOf(said['type']) ?? '', said)) told.push(event);
    }
    return told;
  }

  /** Closes what is open and what waits, in a stream that tells no ends of blocks as well. */
  #closeAll(): readonly StreamEvent[] {
    const told: StreamEvent[] = [];
    while (this.#open !== undefined) {
      for (const event of this.#closeBlock()) told.push(event);
      for (const event of this.#goOn()) told.push(event);
    }
    return told;
  }

  #openBlock(said: JsonObject | undefined): readonly StreamEvent[] {
    const block = new OpenBlock(said);
    this.#open = block;
    const part = block.opened();
    this.#isTold = part !== undefined;
    if (part === undefined) return none;
    const index = this.#next;
    const first = part.kind === 'whole' ? [] : block.first();
    return [{ kind: 'opened', index, part }, ...first.map((delta) => ({ kind: 'delta', index, delta }) as const)];
  }

  #delta(said: JsonObject): readonly StreamEvent[] {
    const delta = this.#open?.delta(said);
    return delta === undefined ? none : [{ kind: 'delta', index: this.#next, delta }];
  }

  #closeBlock(): readonly StreamEvent[] {
    const block = this.#open;
    if (block === undefined) return none;
    const index = this.#next;
    this.#open = undefined;
    this.#next += 1;
    const last: readonly StreamEvent[] = this.#isTold
      ? block.last().map((delta) => ({ kind: 'delta', index, delta }) as const)
      : [{ kind: 'opened', index, part: block.whole() }];
    return [...last, { kind: 'closed', index }];
  }

  #end(delta: JsonObject, usage: JsonObject | undefined): readonly StreamEvent[] {
    if (textOf(delta['stop_reason']) !== undefined)
      this.#finish = readFinish(delta['stop_reason'], delta['stop_sequence']);
    return this.#count(usage);
  }

  #count(said: JsonObject | undefined): readonly StreamEvent[] {
    if (said === undefined) return none;
    this.#usage = mergeUsage(this.#usage, said);
    const usage = readUsage(this.#usage);
    return usage === undefined ? none : [{ kind: 'usage', usage }];
  }

  #stop(): readonly StreamEvent[] {
    this.#isOver = true;
    const finish = this.#finish ?? { reason: 'stop' };
    return [...this.#begin(), ...this.#closeAll(), { kind: 'finished', finish }];
  }

  #fail(said: JsonObject, text: string): readonly StreamEvent[] {
    this.#isOver = true;
    return [...this.#closeAll(), { kind: 'failed', failure: readFailure(said, text) }];
  }
}
