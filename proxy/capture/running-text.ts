// Events of a stream of chat that come one by one and differ in their text alone: of each, only the text is copied.
import { skipString } from '../bytes/json-tokens.ts';
import { ScanError } from '../bytes/scan-error.ts';
import { endOfEvent, frameOf, paddingName } from './compact-events.ts';

/** Of the texts at first. Bytes. */
const firstBytes = 512;
const lastBrace = `}${endOfEvent}`;
const lastBytes = Buffer.from(lastBrace);
const paddingStart = Buffer.from(paddingName);
const [quote, comma] = [0x22, 0x2c];

export class RunningText {
  readonly #before: Buffer;
  readonly #after: Buffer;
  #said = Buffer.allocUnsafe(firstBytes);
  #length = 0;

  constructor(before: Buffer, after: Buffer) {
    this.#before = before;
    this.#after = after;
  }

  /** About what it holds. Bytes. */
  get length(): number {
    return this.#length;
  }

  /** Takes the events of a chunk as long as they are such; gives how many bytes it has taken. */
  take(chunk: Buffer): number {
    let taken = 0;
    while (taken < chunk.length) {
      const from = taken + this.#before.length;
      if (!isAt(chunk, taken, this.#before)) break;
      const to = endOfText(chunk, from - 1);
      if (to === undefined) break;
      const stop = isAt(chunk, to, this.#after) ? to + this.#after.length : this.#behindPadding(chunk, to);
      if (stop === undefined) break;
      this.#say(chunk, from, to);
      taken = stop;
    }
    return taken;
  }

  /** One event that says what they said, one character a byte; nothing is held afterwards. */
  event(): string {
    if (this.#length === 0) return '';
    const said = this.#said.toString('latin1', 0, this.#length);
    this.#length = 0;
    return `${this.#before.toString('latin1')}${said}${this.#after.toString('latin1')}`;
  }

  /** Behind an event whose last member is random letters that hide how long it is. Undefined: it is no such one. */
  #behindPadding(chunk: Buffer, to: number): number | undefined {
    const shared = this.#after.length - lastBytes.length;
    if (chunk[to + shared] !== comma || !isAt(chunk, to, this.#after.subarray(0, shared))) return undefined;
    if (!isAt(chunk, to + shared, paddingStart)) return undefined;
    const end = chunk.indexOf(quote, to + shared + paddingStart.length) + 1;
    return isAt(chunk, end, lastBytes) ? end + lastBytes.length : undefined;
  }

  #say(chunk: Buffer, from: number, to: number): void {
    const length = this.#length + to - from;
    if (length > this.#said.length) {
      const wider = Buffer.allocUnsafe(2 * length);
      this.#said.copy(wider, 0, 0, this.#length);
      this.#said = wider;
    }
    const said = this.#said;
    // Words are short: to call a copy for each takes longer.
    for (let at = from, into = this.#length; at < to; at += 1, into += 1) said[into] = chunk[at] as number;
    this.#length = length;
  }
}

/** What comes behind a stream, one character a byte, may go on like its last event; undefined: that is no piece of a text. */
export function runningBehind(stream: string): RunningText | undefined {
  if (!stream.endsWith(lastBrace)) return undefined;
  const before = stream.lastIndexOf(endOfEvent, stream.length - endOfEvent.length - 1);
  const event = stream.slice(before === -1 ? 0 : before + endOfEvent.length, -endOfEvent.length);
  const frame = frameOf(event);
  if (frame === undefined) return undefined;
  return new RunningText(Buffer.from(frame.before, 'latin1'), Buffer.from(`${frame.after}${endOfEvent}`, 'latin1'));
}

function isAt(chunk: Buffer, at: number, bytes: Buffer): boolean {
  const end = at + bytes.length;
  return end <= chunk.length && chunk.compare(bytes, 0, bytes.length, at, end) === 0;
}

/** Where the text ends whose opening quote is there: at its closing quote. Undefined: it is no text of JSON, or not all of it. */
function endOfText(chunk: Buffer, opening: number): number | undefined {
  try {
    return skipString(chunk, opening) - 1;
  } catch (error) {
    if (error instanceof ScanError) return undefined;
    throw error;
  }
}
