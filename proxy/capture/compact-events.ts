// The events of a stream of chat as few events that say the same: nearly all are the one before with another text, and their texts are joined.

/** Ends an event. */
const end = '\n\n';
/** What stands before a text that is a piece of a longer one: such pieces mean what their sum means. */
const pieceStart = /"delta": ?\{(?:"role": ?"assistant", ?)?"(?:content|reasoning|reasoning_content)": ?"/;
/** What stands behind it where nothing else of the event is a piece of something: neither another text, nor probabilities. */
const pieceEnd = /^"(?:, ?"refusal": ?null)?\}(?!.*"(?:delta|logprobs)": ?[{[])/;
/** A text of JSON up to its closing quote. */
const restOfText = /(?:[^"\\]|\\.)*"/y;
const plainText = /^(?:[^"\\]|\\.)*$/;
/** Random letters with which OpenAI hides how long a text is: the last member of an event. */
const padding = /,"obfuscation":"[^"\\]*"\}(?=\n\n)/g;
const backslash = 0x5c;
const paddingName = ',"obfuscation":"';

/** `stream`: as it came, one character a byte; what follows the last whole event stays as it is. Other events stay as they are, too. */
export function compactEvents(stream: string): string {
  const isPadded = stream.slice(0, stream.indexOf(end)).includes(paddingName);
  const told = isPadded ? stream.replace(padding, '}') : stream;
  const compact = new Compact();
  let start = 0;
  for (let stop = told.indexOf(end); stop !== -1; stop = told.indexOf(end, start)) {
    compact.add(told, start, stop);
    start = stop + end.length;
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
    this.#end = end;
    const found = pieceStart.exec(event);
    const at = found === null ? event.length : found.index + found[0].length;
    restOfText.lastIndex = at;
    const close = found !== null && restOfText.test(event) ? restOfText.lastIndex - 1 : event.length;
    const isPiece = pieceEnd.test(event.slice(close));
    this.#before = isPiece ? event.slice(0, at) : event;
    this.#said = isPiece ? event.slice(at, close) : '';
    this.#after = isPiece ? event.slice(close) : '';
  }
}

/** Whether that is the inside of one text of JSON; a quote follows. */
function isPlain(stream: string, from: number, to: number): boolean {
  const isClosed = stream.indexOf('"', from) === to && stream.charCodeAt(to - 1) !== backslash;
  return isClosed || plainText.test(stream.slice(from, to));
}
