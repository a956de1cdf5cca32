// Reads the events of a stream that differ from the one before in their text alone: what is the same in all of them is not read again.
import type { OpenedPart, StreamEvent } from './conversation/stream-event.ts';
import { textOf } from './json/json.ts';
import type { EventReader, RawEvent } from './translation.ts';

/** An event around its text. */
interface Frame {
  readonly event: string | undefined;
  readonly head: string;
  readonly tail: string;
  /** The part that its text belongs to. */
  readonly index: number;
  readonly text: string;
  /** What stands between head and tail was the text of another event, too. */
  readonly isProved: boolean;
}

/**
 * A reader in front of one that keeps nothing of the words of a text, a refusal or thoughts. Of 34 events of chat it makes 18 µs instead of
 * 56.
 */
export class RepeatingReader implements EventReader {
  readonly #reader: EventReader;
  /** The open part is one of words. */
  #isSpoken = false;
  #frame: Frame | undefined;

  constructor(reader: EventReader) {
    this.#reader = reader;
  }

  read(raw: RawEvent): readonly StreamEvent[] {
    const frame = this.#frame;
    const text = frame && textWithin(raw, frame);
    if (frame?.isProved === true && text) return [{ kind: 'delta', index: frame.index, delta: { kind: 'text', text } }];
    const events = this.#reader.read(raw);
    for (const event of events) if (event.kind === 'opened') this.#isSpoken = isSpoken(event.part);
    const said = this.#isSpoken ? onlyText(events) : undefined;
    const isForetold = said !== undefined && said.text === text && said.index === frame?.index;
    if (!isForetold) this.#frame = said && frameOf(raw, said);
    else if (text !== frame.text) this.#frame = { ...frame, isProved: true };
    return events;
  }

  end(): readonly StreamEvent[] {
    return this.#reader.end();
  }
}

interface Said {
  readonly index: number;
  readonly text: string;
}

function isSpoken({ kind }: OpenedPart): boolean {
  return kind === 'text' || kind === 'refusal' || kind === 'reasoning';
}

/** The text, if the events add a text to a part and nothing else. */
function onlyText([event, ...further]: readonly StreamEvent[]): Said | undefined {
  if (event?.kind !== 'delta' || event.delta.kind !== 'text' || further.length > 0) return undefined;
  const { index, delta } = event;
  return delta.logprobs === undefined ? { index, text: delta.text } : undefined;
}

/** Undefined: the text does not stand in it. Where it stands twice, the next event shows whether this is the place. */
function frameOf({ event, data }: RawEvent, { index, text }: Said): Frame | undefined {
  const written = JSON.stringify(text);
  const at = data.indexOf(written);
  if (at === -1) return undefined;
  return { event, head: data.slice(0, at), tail: data.slice(at + written.length), index, text, isProved: false };
}

/** The text between head and tail; undefined: this is another event. */
function textWithin({ event, data }: RawEvent, frame: Frame): string | undefined {
  const { head, tail } = frame;
  const tailStart = data.length - tail.length;
  // `startsWith` takes eight times as long.
  const isSame = event === frame.event && data.slice(0, head.length) === head && data.slice(tailStart) === tail;
  if (!isSame) return undefined;
  try {
    return textOf(JSON.parse(data.slice(head.length, tailStart)));
  } catch {
    return undefined;
  }
}
