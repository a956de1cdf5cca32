// Reads in the bytes of an answer, when they are on their way, which objects it has made.
import { type Answer, type Tap, WatchingTap } from '../../answer.ts';
import { HeldBytes } from '../../bytes/held-bytes.ts';
import { isObject, type JsonObject, parseObject } from '../../dialects/json/json.ts';
import { ServerEventSplitter } from '../../dialects/server-events.ts';
import { InvalidAnswer } from '../../dialects/translation.ts';
import { parsedObject } from '../../http/parsed-body.ts';
import { atOnce, inSlices } from '../../pacing/slices.ts';
import type { FamilyName } from './families.ts';
import { heldIn, type MadeObject, objectsIn } from './made-objects.ts';

/** The longest record that is read, and the longest that is read at once: whose the objects of a longer one are is known a moment later. Bytes. */
const mostBytes = 8 * 1024 * 1024;
const shortBytes = 1024 * 1024;
/** The texts in events of a response that name an object. */
const [responseMark, itemMark] = ['"response"', 'response.output_item.added'];
/** By family, the texts in the events that are read; other families: any event. */
const marks: Partial<Record<FamilyName, readonly string[]>> = {
  response: [responseMark, itemMark],
  message: ['"container"', '"file_id"'],
  thread_message: ['"container"', '"file_id"', 'message_start'],
};

export interface Making {
  /** Of what the answer is about. */
  readonly family: FamilyName;
  /** The answer is about an object that was there before: only what it holds is new. */
  readonly isOld: boolean;
  /** Called with what has been made, once or several times. */
  readonly made: (objects: readonly MadeObject[]) => void;
}

/** Tells what an answer has made. `answer`: as the client gets it. */
export function objectTap({ stream }: Pick<Answer, 'stream'>, making: Making): Tap {
  return new WatchingTap(() => (stream ? new EventsReader(making) : new RecordReader(making)));
}

/** Of an answer that is one JSON object. Nothing here throws: the client's answer does not hang on it. */
class RecordReader {
  readonly #making: Making;
  readonly #held = new HeldBytes();
  #isLost = false;

  constructor(making: Making) {
    this.#making = making;
  }

  push(bytes: Buffer): void {
    this.#isLost ||= this.#held.length + bytes.length > mostBytes;
    if (this.#isLost) this.#held.take();
    else this.#held.add(this.#held.length === 0 ? Buffer.from(bytes) : bytes);
  }

  end(): void {
    if (this.#isLost) return;
    const body = this.#held.take();
    const work = parsedObject(body);
    if (body.length <= shortBytes) this.#told(atOnce(work));
    else void inSlices(work).then((record) => this.#told(record));
  }

  #told(record: JsonObject | undefined): void {
    const { family, isOld, made } = this.#making;
    if (record !== undefined) made(isOld ? heldIn(family, record) : objectsIn(family, record));
  }
}

/** Of an event stream: the first event names the object, and a response tells of each of its items. */
class EventsReader {
  readonly #making: Making;
  readonly #splitter: ServerEventSplitter;
  #isNamed = false;
  #isOver = false;

  constructor(making: Making) {
    this.#making = making;
    this.#splitter = new ServerEventSplitter(marks[making.family]);
  }

  push(bytes: Buffer): void {
    if (!this.#isOver) this.#read(() => this.#splitter.push(bytes));
  }

  end(): void {
    if (!this.#isOver) this.#read(() => this.#splitter.end());
  }

  #read(events: () => readonly { readonly data: string }[]): void {
    try {
      for (const { data } of events()) if (!this.#isOver) this.#take(data);
    } catch (error) {
      if (!(error instanceof InvalidAnswer)) throw error;
      this.#isOver = true;
    }
  }

  #take(data: string): void {
    const { family, isOld, made } = this.#making;
    const isItem = data.includes(itemMark);
    if (this.#isNamed && !isItem) return;
    const event = parseObject(data);
    if (event === undefined) return;
    if (family === 'message' || family === 'thread_message') {
      made(heldIn(family, event));
      return;
    }
    if (isItem && isObject(event['item'])) {
      made(heldIn(family, { output: [event['item']] }));
      return;
    }
    const record = isObject(event['response']) ? event['response'] : event;
    this.#isNamed = true;
    this.#isOver = family !== 'response';
    made(isOld ? heldIn(family, record) : objectsIn(family, record));
  }
}
