// The events of an answer that several targets tell one after the other, as those of one answer. A tool call is held until the answer is
// over, because a part of one that a client has cannot be taken back.
import type { ConversationUsage, Rescued } from '../../dialects/conversation/conversation.ts';
import type { Citation } from '../../dialects/conversation/parts.ts';
import type { OpenedPart, PartDelta, StreamEvent } from '../../dialects/conversation/stream-event.ts';
import type { Seam } from './seam.ts';

/** Most that is kept of one answer, said and held together; a longer one cannot be joined. Characters. */
const mostKept = 1024 * 1024;
/** Room is asked for in steps of so many characters. */
const stepLength = 16 * 1024;
/** Of an event that is held, besides its text. Characters. */
const eventLength = 64;

/** Another target says something else than the client has read. */
export class OtherAnswer extends Error {}

type Opened = Extract<StreamEvent, { readonly kind: 'opened' }>;
type Delta = Extract<StreamEvent, { readonly kind: 'delta' }>;

/** A part that the client has been told of and that is not closed. */
interface OpenPart {
  readonly index: number;
  readonly isText: boolean;
  /** Characters that were told of its text, and those of them by targets that broke off. */
  length: number;
  before: number;
}

export class JoinedStream {
  readonly #rescue: Rescued;
  readonly #hasRoom: (characters: number) => boolean;
  /** The text that the client has. */
  #said = '';
  #hasBegun = false;
  #hasThoughts = false;
  #isOver = false;
  /** What was told or held cannot be joined with anything. */
  #isFixed = false;
  #parts = 0;
  #open: OpenPart | undefined;
  /** What is done with the part that the target is telling. */
  #telling: 'as it comes' | 'text' | 'nothing' = 'as it comes';
  #held: StreamEvent[] | undefined;
  #kept = 0;
  #room = 0;
  /** The first half of a character. */
  #half = '';
  #seam: Seam | undefined;
  /** Characters that this target has said, and those of them that the client got. */
  #come = 0;
  #passed = 0;
  #isFirst = true;
  #spent: ConversationUsage | undefined;

  /** `hasRoom`: whether so many more characters may be kept. */
  constructor(rescue: Rescued, hasRoom: (characters: number) => boolean) {
    this.#rescue = rescue;
    this.#hasRoom = hasRoom;
  }

  /** The text that the client has. */
  get said(): string {
    return this.#said;
  }

  /** Another target may go on with it. */
  get isJoinable(): boolean {
    return !this.#isFixed && !this.#isOver;
  }

  /** Another target tells the rest; `spent`: the usage of the one that broke off. */
  goOn(seam: Seam | undefined, spent: ConversationUsage | undefined): void {
    this.#isFirst = false;
    this.#held = undefined;
    this.#half = '';
    this.#seam = seam;
    this.#come = 0;
    this.#passed = 0;
    if (this.#open !== undefined) this.#open.before = this.#open.length;
    if (spent !== undefined) this.#spent = this.#spent === undefined ? spent : sumOf(this.#spent, spent);
  }

  /** The events that can be told now. Throws an OtherAnswer. */
  push(event: StreamEvent): readonly StreamEvent[] {
    const told: StreamEvent[] = [];
    if (this.#held !== undefined && isOfPart(event)) this.#hold(event, told);
    else this.#take(event, told);
    return told;
  }

  /** The answer breaks off for good: the events that are left to be told before that. */
  close(): readonly StreamEvent[] {
    const told: StreamEvent[] = [];
    this.#closeOpen(told);
    return told;
  }

  #hold(event: StreamEvent, told: StreamEvent[]): void {
    this.#held?.push(event);
    const length = event.kind === 'delta' && 'text' in event.delta ? event.delta.text.length : 0;
    if (!this.#keeps(length + eventLength)) this.#release(told);
  }

  /** Tells what is held. */
  #release(told: StreamEvent[]): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#isFixed = true;
    for (const event of held) this.#take(event, told);
  }

  /** False: it cannot be joined any more. */
  #keeps(characters: number): boolean {
    if (this.#isFixed) return false;
    this.#kept += characters;
    while (this.#kept > this.#room && this.#kept <= mostKept && this.#hasRoom(stepLength)) this.#room += stepLength;
    if (this.#kept > this.#room) this.#isFixed = true;
    return !this.#isFixed;
  }

  #take(event: StreamEvent, told: StreamEvent[]): void {
    switch (event.kind) {
      case 'started':
        if (!this.#hasBegun) told.push(event);
        this.#hasBegun = true;
        return;
      case 'usage':
        told.push(this.#spent === undefined ? event : { ...event, usage: sumOf(this.#spent, event.usage) });
        return;
      case 'opened':
        this.#opened(event, told);
        return;
      case 'delta':
        this.#delta(event, told);
        return;
      case 'closed':
        this.#closed(told);
        return;
      case 'finished':
        this.#endSeam(told);
        this.#release(told);
        this.#closeOpen(told);
        this.#isOver = true;
        told.push(this.#isFirst ? event : { kind: 'finished', finish: { ...event.finish, rescued: this.#rescue } });
        return;
      default:
        told.push(event);
    }
  }

  #opened(event: Opened, told: StreamEvent[]): void {
    const { part } = event;
    const kind = part.kind === 'whole' ? part.part.kind : part.kind;
    this.#telling = 'as it comes';
    if (kind === 'tool_call' && !this.#isFixed) {
      this.#endSeam(told);
      this.#held = [event];
      return;
    }
    if (part.kind === 'text' && !this.#isFirst && this.#passed === 0) {
      // It may have nothing new to say, and goes on with the text that is open.
      this.#telling = 'text';
      return;
    }
    if (kind === 'reasoning') {
      // Thoughts are shown of one target alone.
      if (!this.#isFirst && (this.#hasThoughts || this.#said !== '')) {
        this.#telling = 'nothing';
        return;
      }
      this.#hasThoughts = true;
    } else if (part.kind !== 'text') this.#isFixed = true;
    this.#begin(part, told);
  }

  #begin(part: OpenedPart, told: StreamEvent[]): OpenPart {
    this.#closeOpen(told);
    const open = { index: this.#parts, isText: part.kind === 'text', length: 0, before: 0 };
    this.#open = open;
    this.#parts += 1;
    told.push({ kind: 'opened', index: open.index, part });
    return open;
  }

  #delta({ delta }: Delta, told: StreamEvent[]): void {
    if (this.#telling === 'nothing') return;
    const open = this.#open;
    const isText = this.#telling === 'text' || open?.isText === true;
    if (isText && delta.kind === 'text') this.#addText(delta, told);
    else if (isText && delta.kind === 'citation') this.#cite(delta.citation, told);
    else if (open?.isText === isText) told.push({ kind: 'delta', index: open.index, delta });
  }

  #addText(delta: Extract<PartDelta, { readonly kind: 'text' }>, told: StreamEvent[]): void {
    let text = this.#half + delta.text;
    this.#half = isHalf(text) ? text.slice(-1) : '';
    if (this.#half !== '') text = text.slice(0, -1);
    this.#come += text.length;
    const fresh = this.#seam === undefined ? text : this.#seam.push(text);
    if (fresh === undefined) throw new OtherAnswer();
    if (fresh === '' && !this.#isFirst) return;
    this.#say(fresh, delta, told);
  }

  #say(text: string, delta: PartDelta, told: StreamEvent[]): void {
    const open = this.#open?.isText === true ? this.#open : this.#begin({ kind: 'text' }, told);
    if (this.#keeps(text.length)) this.#said += text;
    this.#passed += text.length;
    open.length += text.length;
    told.push({ kind: 'delta', index: open.index, delta: { ...delta, kind: 'text', text } });
  }

  /** Offsets count characters of the part, which has another beginning for the client. */
  #cite(citation: Citation, told: StreamEvent[]): void {
    const { index, before } = this.#open ?? { index: 0, before: 0 };
    const moved = before - (this.#come - this.#passed);
    const at = (place: number | undefined): number | undefined => place && Math.max(0, place + moved);
    const shown = this.#isFirst ? citation : { ...citation, start: at(citation.start), end: at(citation.end) };
    if (this.#open?.isText === true) told.push({ kind: 'delta', index, delta: { kind: 'citation', citation: shown } });
  }

  #closed(told: StreamEvent[]): void {
    const half = this.#half;
    this.#half = '';
    if (half !== '') this.#say(half, { kind: 'text', text: half }, told);
    // A text stays open until something else comes, because another target may go on with it.
    if (this.#open?.isText === false && this.#telling === 'as it comes') this.#closeOpen(told);
    this.#telling = 'as it comes';
  }

  /** The target has no more words before what comes. */
  #endSeam(told: StreamEvent[]): void {
    const rest = this.#seam?.end() ?? (this.#seam === undefined ? '' : undefined);
    if (rest === undefined) throw new OtherAnswer();
    this.#seam = undefined;
    if (rest !== '') this.#say(rest, { kind: 'text', text: rest }, told);
  }

  #closeOpen(told: StreamEvent[]): void {
    if (this.#open !== undefined) told.push({ kind: 'closed', index: this.#open.index });
    this.#open = undefined;
  }
}

function isOfPart({ kind }: StreamEvent): boolean {
  return kind === 'opened' || kind === 'delta' || kind === 'closed';
}

/** Whether a text ends within a character. */
function isHalf(text: string): boolean {
  return (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800;
}

const details = [
  'cachedTokens',
  'cacheWriteTokens',
  'hourCacheWriteTokens',
  'reasoningTokens',
  'audioInputTokens',
  'cachedAudioTokens',
  'audioOutputTokens',
] as const;

/** What both have used; a detail that one of them does not tell counts as none. */
function sumOf(one: ConversationUsage, other: ConversationUsage): ConversationUsage {
  const told = details.filter((name) => one[name] !== undefined || other[name] !== undefined);
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    ...Object.fromEntries(told.map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)])),
  };
}
