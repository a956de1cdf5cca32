// Brings the parts of an answer into the order of the conversation: one open at a time, whatever order their pieces come in.
import type { OpenedPart, PartDelta, StreamEvent } from '../conversation/stream-event.ts';
import { InvalidAnswer } from '../translation.ts';
import type { CallProgress } from './call-progress.ts';

/** Most that is held of parts that wait, in characters. */
const mostHeld = 16 * 1024 * 1024;

/** A part that has been begun. */
export interface BegunPart {
  /** Undefined: a tool call whose name has not come yet. */
  opened: OpenedPart | undefined;
  state: 'waiting' | 'open' | 'closed';
  /** Of a tool call. */
  readonly progress?: CallProgress | undefined;
  /** Its proof has come: what follows belongs to another part. */
  isSealed: boolean;
  /** The deltas of the part that came while it waited. */
  readonly held: PartDelta[];
}

/** A part begins when the one before is complete. Until then what comes of it is held, and so is all behind it. */
export class PartOrder {
  #events: StreamEvent[] = [];
  #index = -1;
  #heldLength = 0;
  #open: BegunPart | undefined;
  readonly #waiting: BegunPart[] = [];

  /** The events since this was asked last. */
  take(): StreamEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** The part that was begun last, if it is not closed. */
  get last(): BegunPart | undefined {
    return this.#waiting.at(-1) ?? this.#open;
  }

  begin(opened: OpenedPart | undefined, progress?: CallProgress): BegunPart {
    const part: BegunPart = { opened, state: 'waiting', progress, isSealed: opened?.kind === 'whole', held: [] };
    this.#waiting.push(part);
    this.advance();
    return part;
  }

  /** Adds to a part; what comes after it was closed is left out. */
  add(part: BegunPart, delta: PartDelta): void {
    if (part.state === 'open') this.#events.push({ kind: 'delta', index: this.#index, delta });
    else if (part.state === 'waiting') {
      this.#heldLength += 'text' in delta ? delta.text.length : 0;
      if (this.#heldLength > mostHeld) throw new InvalidAnswer('too much of it waits for a part to end');
      part.held.push(delta);
    }
  }

  /** Opens what waits, as far as the parts before it are complete. */
  advance(): void {
    while (this.#waiting.length > 0 && (this.#open === undefined || isDone(this.#open))) {
      if (this.#waiting[0]?.opened === undefined) return;
      this.#next();
    }
  }

  /** Nothing more comes: all that waits is told, and every part closed. A call that never got a name is left out. */
  end(): void {
    while (this.#waiting.length > 0) this.#next();
    this.#close();
  }

  #next(): void {
    this.#close();
    const next = this.#waiting.shift();
    if (next?.opened === undefined) return;
    this.#index += 1;
    this.#open = next;
    next.state = 'open';
    this.#events.push({ kind: 'opened', index: this.#index, part: next.opened });
    for (const delta of next.held.splice(0)) this.#events.push({ kind: 'delta', index: this.#index, delta });
  }

  #close(): void {
    const part = this.#open;
    if (part === undefined) return;
    const rest = part.progress?.end() ?? '';
    if (rest !== '') this.add(part, { kind: 'text', text: rest });
    this.#events.push({ kind: 'closed', index: this.#index });
    part.state = 'closed';
    this.#open = undefined;
  }
}

/** The end of free text cannot be seen, so what is behind such a call waits for the end of the answer. */
function isDone({ opened, progress }: BegunPart): boolean {
  return opened?.kind !== 'tool_call' || progress === undefined || progress.isComplete;
}
