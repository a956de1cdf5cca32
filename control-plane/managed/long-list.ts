// An answer with a long list: its entries are made and written in portions, so that no answer holds the process up.
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';

/** Entries of one portion: they are made within two milliseconds. */
const entriesAtOnce = 500;

/** A text of JSON with a list in it. */
export class LongList {
  /** Before the first entry, and behind the last. */
  readonly open: string;
  readonly close: string;
  /** The JSON of each; it is made when its turn comes, and must not depend on what changes meanwhile. */
  readonly entries: Iterable<string>;

  constructor(open: string, entries: Iterable<string>, close: string) {
    this.open = open;
    this.entries = entries;
    this.close = close;
  }

  /** An object whose `member` is the list, with other members behind it. */
  static in(member: string, entries: Iterable<string>, others: object): LongList {
    const rest = JSON.stringify(others).slice(1);
    return new LongList(`{${JSON.stringify(member)}:[`, entries, rest === '}' ? ']}' : `],${rest}`);
  }
}

/** The content type of the body. */
export const longListType = 'application/json; charset=utf-8';

/** The body of an answer: of a list of one portion a text. */
export function bodyOf(list: LongList): string | Readable {
  const portions = portionsOf(list);
  const [first, second] = [portions.next(), portions.next()];
  if (second.done === true) return String(first.value);
  return Readable.from(inTurn([String(first.value), second.value], portions), { objectMode: false });
}

async function* inTurn(made: readonly string[], portions: Iterator<string>): AsyncGenerator<string, void> {
  yield* made;
  for (;;) {
    await setImmediate();
    const next = portions.next();
    if (next.done === true) return;
    yield next.value;
  }
}

function* portionsOf({ open, entries, close }: LongList): Generator<string, void> {
  let [text, count] = [open, 0];
  for (const entry of entries) {
    if (count > 0 && count % entriesAtOnce === 0) {
      yield text;
      text = '';
    }
    text += count === 0 ? entry : `,${entry}`;
    count += 1;
  }
  yield text + close;
}
