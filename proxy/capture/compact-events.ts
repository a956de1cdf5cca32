// The events of a stream of chat as few events that say the same: nearly all are the one before with another text, and their texts are joined.

/** Ends an event. */
export const endOfEvent = '\n\n';
/** What stands before a text that is a piece of a longer one: such pieces mean what their sum means. */
const pieceStart =
  /"delta": ?\{(?:"role": ?"assistant", ?|"\w+": ?null, ?)*"(?:content|reasoning|reasoning_content)": ?"/;
/** What stands behind it where nothing else of its delta says something. */
const pieceEnd = /^"(?:, ?"role": ?"assistant"|, ?"\w+": ?null)*\}/;
/** What may be a piece of something elsewhere in the event: another choice, probabilities. A line of its own may be another event. */
const otherPieces = /"(?:delta|message)"|"logprobs"\s*:\s*(?!null)\S|[\r\n]/;
/** A text of JSON (RFC 8259), up to its closing quote: without control characters, and with known escapes alone. */
const restOfText = /(?:[ !#-[\]-\xff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const plainText = /^(?:[ !#-[\]-\xff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*$/;
/** Longer events are not put together: few are like them. Characters. */
const longestEvent = 64 * 1024;
/** Random letters with which OpenAI hides how long a text is: the last member of an event. */
const padding = /,"obfuscation":"[^"\\]*"\}(?=\n\n)/g;
const blank = 0x20;
const quote = 0x22;
const backslash = 0x5c;
export const paddingName = ',"obfuscation":"';

/** `stream`: as it came, one character a byte; what follows the last whole event stays as it is. Other events stay as they are, too. */
export function compactEvents(stream: string): string {
  const isPadded = stream.slice(0, stream.indexOf(endOfEvent)).includes(paddingName);
  const told = isPadded ? stream.replace(padding, '}') : stream;
  const compact = new Compact();
  let start = 0;
  for (let stop = told.indexOf(endOfEvent); stop !== -1; stop = told.indexOf(endOfEvent, start)) {
    compact.add(told, start, stop);
    start = stop + endOfEvent.length;
  }
  return `${compact.text()}${told.slice(start)}`;
}

/** Events, the last of which may get a longer text. */
class Compact {
  #told = '';
  /** Ends the last event; there is none at first. */
  #end = '';
  /** The last event: what stands around its text, or all of it. It is empty where the stream was cut in front of an end. */
  #before = '';
  #said = '';
  #after = '';

  add(stream: string, start: number, stop: number): void {
    const from = start + this.#before.length;
    const to = stop - this.#after.length;
    // Of a part of a longer text `startsWith` takes ten times as long as to compare slices.
    if (
      this.#after !== '' &&
      from <= to &&
      stop - start <= longestEvent &&
      stream.slice(start, from) === this.#before &&
      stream.slice(to, stop) === this.#after
    ) {
      if (isPlain(stream, from, to)) {
        this.#said += stream.slice(from, to);
        return;
      }
    }
    this.#told = this.text();
    this.#begin(stream.slice(start, stop));
  }

  text(): string {
    return `${this.#told}${this.#before}${this.#said}${this.#after}${this.#end}`;
  }

  #begin(event: string): void {
    this.#end = endOfEvent;
    const { before, said, after } = frameOf(event) ?? { before: event, said: '', after: '' };
    this.#before = before;
    this.#said = said;
    this.#after = after;
  }
}

/** An event that says a piece of a text, and nothing else. */
interface Frame {
  readonly before: string;
  readonly said: string;
  /** It begins with the quote behind the text. */
  readonly after: string;
}

/** Undefined: the event, without its end, is no such one. */
export function frameOf(event: string): Frame | undefined {
  const found = event.length > longestEvent ? null : pieceStart.exec(event);
  if (found === null) return undefined;
  const at = found.index + found[0].length;
  restOfText.lastIndex = at;
  if (!restOfText.test(event)) return undefined;
  const close = restOfText.lastIndex - 1;
  const after = event.slice(close);
  if (!isAlone(event.slice(0, found.index), after)) return undefined;
  return { before: event.slice(0, at), said: event.slice(at, close), after };
}

/** Whether nothing else in the event is a piece of something: neither what stands before its delta, nor what stands behind its text. */
function isAlone(before: string, after: string): boolean {
  return pieceEnd.test(after) && !otherPieces.test(before) && !otherPieces.test(after);
}

/** Whether that is the inside of one text of JSON; a quote follows. */
function isPlain(stream: string, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const code = stream.charCodeAt(at);
    if (code < blank || code === quote || code === backslash) return plainText.test(stream.slice(from, to));
  }
  return true;
}
