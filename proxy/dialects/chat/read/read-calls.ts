// Tells which tool call a piece belongs to. Servers repeat or leave out `index`, `id`, `type` and `name`, or send a call as a whole.
import { type JsonObject, type JsonValue, numberOf, objectOf, textOf, writeJson } from '../../json/json.ts';
import { CallProgress } from '../call-progress.ts';
import type { BegunPart, PartOrder } from '../part-order.ts';

interface Call {
  readonly part: BegunPart;
  readonly progress: CallProgress;
  readonly isFreeText: boolean;
  /** As the server gave it. */
  id: string | undefined;
  name: string | undefined;
}

interface Piece {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly input: string;
  readonly isFreeText: boolean;
  readonly signature: string | undefined;
}

/** The tool calls of one answer. */
export class CallReader {
  readonly #order: PartOrder;
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  #last: Call | undefined;

  constructor(order: PartOrder) {
    this.#order = order;
  }

  /** Takes one entry of `tool_calls`. */
  read(entry: JsonObject): void {
    const piece = pieceOf(entry);
    const known = this.#find(piece);
    const call = known === undefined || isAnother(known, piece) ? this.#begin(piece) : known;
    this.#learn(call, piece);
    const text = call.progress.push(piece.input);
    if (text !== '') this.#order.add(call.part, { kind: 'text', text });
    if (piece.signature !== undefined) {
      this.#order.add(call.part, { kind: 'signature', signature: { family: 'google', value: piece.signature } });
    }
    this.#order.advance();
  }

  #find({ index, id, name }: Piece): Call | undefined {
    if (index !== undefined) return this.#byIndex.get(index);
    if (id === undefined) return this.#last;
    // An id that is new in every piece: only the first one has a name.
    return this.#byId.get(id) ?? (name === undefined ? this.#last : undefined);
  }

  #begin({ isFreeText }: Piece): Call {
    const progress = new CallProgress(isFreeText);
    const call = {
      part: this.#order.begin(undefined, progress),
      progress,
      isFreeText,
      id: undefined,
      name: undefined,
    };
    this.#last = call;
    return call;
  }

  #learn(call: Call, { index, id, name }: Piece): void {
    if (index !== undefined) this.#byIndex.set(index, call);
    if (id !== undefined) {
      call.id ??= id;
      this.#byId.set(id, call);
    }
    if (call.name !== undefined || name === undefined) return;
    call.name = name;
    call.part.opened = { kind: 'tool_call', id: call.id ?? '', name, isFreeText: call.isFreeText };
    this.#order.advance();
  }
}

/** The piece begins a call of its own, although its place is that of a known one. */
function isAnother(known: Call, { index, id, name, input }: Piece): boolean {
  if (name === undefined || known.name === undefined) return false;
  if (id !== undefined && known.id !== undefined) return id !== known.id;
  if (id === undefined && known.id !== undefined && index !== undefined) return false;
  return name !== known.name || (known.progress.isComplete && input.trim() !== '');
}

function pieceOf(entry: JsonObject): Piece {
  const custom = objectOf(entry['custom']);
  const called = custom ?? objectOf(entry['function']);
  const google = objectOf(objectOf(entry['extra_content'])?.['google']);
  return {
    index: numberOf(entry['index']),
    id: unlessBlank(entry['id']),
    name: unlessBlank(called?.['name']),
    input: inputOf(called?.[custom === undefined ? 'arguments' : 'input']),
    isFreeText: custom !== undefined || entry['type'] === 'custom',
    signature: unlessBlank(google?.['thought_signature']),
  };
}

/** Arguments are a text; some servers send the object itself. */
function inputOf(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : writeJson(value);
}

function unlessBlank(value: JsonValue | undefined): string | undefined {
  return textOf(value) || undefined;
}
