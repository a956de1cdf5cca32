// Collects the texts of a parsed body, each with the way to put another one in its place.
import {
  type EditableObject,
  isObject,
  type JsonObject,
  type JsonValue,
  numberOf,
  parseJson,
  writeJson,
} from './json/json.ts';
import { readingJson } from './json/read-json.ts';
import { jsonPieces } from './json/write-json.ts';
import { otherTexts, type RequestedPlace, requestedTexts } from './other-texts.ts';
import type { EditableText, Role, StreamedText, TextForm } from './texts.ts';

export type { EditableObject } from './json/json.ts';

/** The object itself in a parsed body, not a copy; undefined for any other value. */
export function editable(value: JsonValue | undefined): EditableObject | undefined {
  return isObject(value) ? value : undefined;
}

/** The objects of a list; none where there is no list. */
export function editableList(value: JsonValue | undefined): readonly EditableObject[] {
  return Array.isArray(value) ? (value as JsonValue[]).filter((entry): entry is EditableObject => isObject(entry)) : [];
}

/** A text member, such as a type or a role; empty when it is missing or not a text. */
export function wordIn(object: JsonObject | undefined, key: string): string {
  const value = object?.[key];
  return typeof value === 'string' ? value : '';
}

/** A member that is an index from 0; 0 when it is missing. */
export function placeIn(object: JsonObject, key: string): number {
  return numberOf(object[key]) ?? 0;
}

/** Texts in the order in which they are added. */
export class TextList {
  readonly texts: EditableText[] = [];

  /** A member, if it is a text. `changed` is called behind a change. */
  member(object: EditableObject, key: string, said: Said): void {
    if (typeof object[key] === 'string') this.texts.push(new TextAt(object, key, said));
  }

  /** A member that is a text, or a list of bare texts and of parts with texts under one of these keys. */
  content(object: EditableObject, key: string, said: Said, partKeys: readonly string[] = ['text']): void {
    this.words(object, key, said);
    for (const part of editableList(object[key])) for (const partKey of partKeys) this.member(part, partKey, said);
  }

  /** A member that is a text, or a list of bare texts. */
  words(object: EditableObject, key: string, said: Said): void {
    this.member(object, key, said);
    const list = object[key];
    if (!Array.isArray(list)) return;
    const entries = list as unknown as EditableObject;
    for (const index of list.keys()) this.member(entries, String(index), said);
  }

  /** A member that is a JSON text, or the value that such a text would say. */
  json(object: EditableObject, key: string, said: Said): void {
    this.member(object, key, { ...said, form: 'json' });
    this.value(object, key, said);
  }

  /** All texts below it, whatever they are, but for those of the members `known`. */
  others(object: EditableObject, said: Said, known?: ReadonlySet<string>): void {
    for (const [holder, key] of otherTexts(object, known)) this.member(holder, key, { form: 'aside', ...said });
  }

  /** A member that holds a JSON value, such as the input of a tool. */
  value(object: EditableObject, key: string, said: Said): void {
    const value = object[key];
    const isHolder = isObject(value) || Array.isArray(value);
    if (isHolder && Object.keys(value).length > 0) this.texts.push(new ValueAt(object, key, said));
  }
}

/** The texts of a request: whatever a model may read, also in members that nothing knows. */
export class RequestedList extends TextList {
  /** By object or list: its members that were read. */
  readonly #read = new Map<object, string[] | Set<string>>();

  override member(object: EditableObject, key: string, said: Said): void {
    if (typeof object[key] === 'string') this.leave(object, key);
    super.member(object, key, said);
  }

  override value(object: EditableObject, key: string, said: Said): void {
    this.leave(object, key);
    super.value(object, key, said);
  }

  override others(object: EditableObject, said: Said, known: ReadonlySet<string> = nothing): void {
    for (const place of this.rest(object, said, known)) this.leave(place.holder, place.at.key);
  }

  /** The same, and nothing is read after it. */
  rest(object: EditableObject, said: Said, known: ReadonlySet<string>): readonly RequestedPlace[] {
    // An object may have tens of thousands of members: what was read of it is looked up once.
    let latest: EditableObject | undefined;
    let read: string[] | Set<string> | undefined;
    const isRead = (holder: EditableObject, key: string): boolean => {
      if (holder !== latest) read = this.#read.get(holder);
      latest = holder;
      if (read === undefined) return false;
      return Array.isArray(read) ? read.includes(key) : read.has(key);
    };
    const places = requestedTexts(object, known, isRead);
    for (const place of places) this.texts.push(new TextOfPlace(place, said));
    return places;
  }

  /** A member that nothing more is to be read of. */
  leave(object: EditableObject, key: string): void {
    const read = this.#read.get(object);
    if (read === undefined) this.#read.set(object, [key]);
    else if (!Array.isArray(read)) read.add(key);
    else if (read.length < mostListed) read.push(key);
    else this.#read.set(object, new Set([...read, key]));
  }

  /** Adds the definitions of tools: the client's own, each as one JSON text; a provider's tool, text by text. */
  definitions(body: EditableObject, key: string, isOwn: (tool: EditableObject) => boolean): void {
    const list = body[key];
    if (!Array.isArray(list)) return;
    for (const [index, tool] of (list as readonly JsonValue[]).entries()) {
      const said = { role: 'system' } as const;
      const object = editable(tool);
      if (object !== undefined && isOwn(object)) this.value(list as unknown as EditableObject, String(index), said);
      else if (object !== undefined) this.others(object, said);
    }
  }
}

const nothing: ReadonlySet<string> = new Set();
const nothingLeftOut: readonly string[] = [];
/** Up to so many members a list is searched as fast as a set, and is made faster. */
const mostListed = 8;

/** Who says it, how, and who is told of a change. */
export interface Said {
  readonly role: Role;
  readonly form?: TextForm;
  readonly changed?: () => void;
}

/** The texts in the events of a stream. */
export class StreamedList {
  readonly texts: StreamedText[] = [];
  /** Texts that come once and whole. */
  readonly wholes = new TextList();

  /** A member, if it is a text with anything in it. */
  member(object: EditableObject, key: string, channel: string, said: Omit<Said, 'role'> = {}): void {
    if (typeof object[key] !== 'string' || object[key] === '') return;
    this.texts.push(new StreamedTextAt(object, key, channel, said));
  }
}

/** A member that is a text. Requests may have tens of thousands: a class takes half the time and memory of accessors for each. */
class TextAt implements EditableText {
  readonly role: Role;
  readonly form: TextForm;
  readonly #object: EditableObject;
  readonly #key: string;
  readonly #changed: (() => void) | undefined;

  constructor(object: EditableObject, key: string, { role, form = 'text', changed }: Said) {
    this.role = role;
    this.form = form;
    this.#object = object;
    this.#key = key;
    this.#changed = changed;
  }

  get text(): string {
    return this.#object[this.#key] as string;
  }

  replace(text: string): void {
    this.#object[this.#key] = text;
    this.#changed?.();
  }
}

class StreamedTextAt extends TextAt implements StreamedText {
  readonly channel: string;

  constructor(object: EditableObject, key: string, channel: string, said: Omit<Said, 'role'>) {
    super(object, key, { role: 'assistant', ...said });
    this.channel = channel;
  }
}

/** A text that was found below an object of a request. */
class TextOfPlace implements EditableText {
  readonly role: Role;
  readonly form: TextForm;
  readonly #place: RequestedPlace;
  #text: string | undefined;

  constructor(place: RequestedPlace, { role, form = 'aside' }: Said) {
    this.role = role;
    this.form = form;
    this.#place = place;
    this.#text = place.data?.text;
  }

  get text(): string {
    const { holder, at, part } = this.#place;
    return this.#text ?? (part === 'name' ? at.key : written(holder[at.key]));
  }

  replace(given: string): void {
    const { holder, at, part, data } = this.#place;
    this.#text = data === undefined ? undefined : given;
    if (part === 'name') rename(this.#place, given);
    else holder[at.key] = data?.written(given) ?? given;
  }
}

/** A text, or a number with all of its digits. */
function written(value: JsonValue | undefined): string {
  if (!JSON.isRawJSON(value)) return typeof value === 'string' ? value : JSON.stringify(value);
  const number = Number(value.rawJSON);
  return Number.isSafeInteger(number) ? String(number) : value.rawJSON;
}

/** The member gets another name in its place; one that is taken is made another one. */
function rename({ holder, at }: RequestedPlace, given: string): void {
  let name = given;
  while (Object.hasOwn(holder, name)) name += '_';
  const members = Object.entries(holder);
  for (const [key] of members) delete holder[key];
  for (const [key, value] of members) {
    const member = { value, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(holder, key === at.key ? name : key, member);
  }
  at.key = name;
}

/** By value: its JSON text, where it was written in steps. */
const writtenTexts = new WeakMap<object, string>();
/** The size of a step, in characters. */
const stepLength = 256 * 1024;

/** A member that holds a JSON value. */
class ValueAt implements EditableText {
  readonly role: Role;
  readonly form = 'json';
  readonly #object: EditableObject;
  readonly #key: string;
  readonly #value: JsonValue & object;
  readonly #changed: (() => void) | undefined;
  #text: string | undefined;

  constructor(object: EditableObject, key: string, { role, changed }: Said) {
    this.role = role;
    this.#object = object;
    this.#key = key;
    this.#value = object[key] as JsonValue & object;
    this.#changed = changed;
  }

  get text(): string {
    this.#text ??= writtenTexts.get(this.#value) ?? writeJson(this.#value);
    return this.#text;
  }

  *writing(): Generator<undefined, void, undefined> {
    if (writtenTexts.has(this.#value)) return;
    let text = '';
    for (const piece of jsonPieces(this.#value, stepLength)) {
      if (text !== '') yield;
      text += piece;
    }
    writtenTexts.set(this.#value, text);
  }

  replace(given: string): void {
    this.#put(given, parseJson(given));
  }

  *replacing(given: string): Generator<undefined, void, undefined> {
    this.#put(given, (yield* readingJson(given)) as JsonValue);
  }

  #put(text: string, value: JsonValue): void {
    this.#text = text;
    this.#object[this.#key] = value;
    this.#changed?.();
  }
}

/** The largest of these members, in tokens; Infinity when one is not a number; undefined when none is present. */
export function largest(object: JsonObject, keys: readonly string[]): number | undefined {
  const said = keys.map((key) => object[key] ?? undefined).filter((value) => value !== undefined);
  const given = said.map((value) => numberOf(value) ?? Number.POSITIVE_INFINITY);
  return given.length === 0 ? undefined : Math.max(...given);
}

/**
 * Lowers these members to `most` tokens; sets the first one where none is present. Returns an empty list: nothing is
 * left out.
 */
export function cap(object: EditableObject, keys: readonly string[], most: number): readonly string[] {
  let isSaid = false;
  for (const key of keys) {
    if (object[key] === undefined || object[key] === null) continue;
    isSaid = true;
    if ((numberOf(object[key]) ?? Number.POSITIVE_INFINITY) > most) object[key] = most;
  }
  if (!isSaid && keys[0] !== undefined) object[keys[0]] = most;
  return nothingLeftOut;
}

/** The text of an operator before or behind that of the client. */
export function joined(place: 'prepend' | 'append' | 'replace', given: string | undefined, text: string): string {
  if (given === undefined || given === '' || place === 'replace') return text;
  return place === 'prepend' ? `${text}\n\n${given}` : `${given}\n\n${text}`;
}
