// Reads a model call: its model, whether it streams, and the places of these members in its bytes.
import { isUtf8 } from 'node:buffer';
import { type Member, maxDepth, maxTokenBytes, scanLargeObject, scanObject } from '../bytes/scan.ts';
import { ScanError, type ScanFault } from '../bytes/scan-error.ts';
import { spells, spellsFolded } from '../bytes/spells.ts';
import { type ErrorCode, refusal } from '../errors.ts';

/** A response that a call goes on from. */
export interface Continued {
  readonly id: string;
  /** The number of items in `input` before the client's own. */
  readonly itemsBefore: number;
}

/** A validated model call. Offsets count bytes of `body`. */
export interface Call {
  /** The client's bytes, without a byte order mark. */
  readonly body: Buffer;
  /** The members of its top level, in their order. */
  readonly members: readonly Member[];
  readonly model: string;
  readonly modelStart: number;
  readonly modelEnd: number;
  readonly stream: boolean;
  /** Where `stream_options` stands, if the client sent it. */
  readonly streamOptions: Member | undefined;
  /** The client itself asked for the usage event of a stream. */
  readonly wantsUsage: boolean;
  /** The first member that may make a provider go to another model or place than it was asked for, in lower case. */
  readonly routingMember: string | undefined;
  /** The response that the input goes on from, where the gateway has put what was said before into the body. */
  readonly continues?: Continued | undefined;
}

/** Bodies beyond this are read in steps. */
export const largeBytes = 1024 * 1024;
/** Longest model name accepted, in characters. */
const maxModelLength = 1024;

/** Longest `stream_options`: it is read at once. Bytes. */
const mostOptionBytes = 16 * 1024;

/** Keys that must not stand twice, whatever their case: an upstream might obey the other one. */
const guarded =
  'model stream stream_options max_tokens max_completion_tokens n user previous_response_id store background'.split(
    ' ',
  );
/**
 * Routing of OpenRouter (`provider`, `preset`), LiteLLM (`user_config`, `extra_body`) and Vercel (`providerOptions`, folded): a provider
 * that is itself a gateway obeys these instead of `model` and of its own settings.
 */
const routing = (
  'models fallbacks route api_base api_key base_url provider preset provideroptions extra_body custom_llm_provider ' +
  'model_list user_config context_window_fallbacks content_policy_fallbacks'
).split(' ');
const longestWatched = Math.max(...[...guarded, ...routing].map((key) => key.length));

/** A key that is watched for, in lower case. */
interface WatchedKey {
  readonly name: string;
  /** A bit of its own where it is guarded; 0 for a routing member. */
  readonly bit: number;
}

const watchedKeys: readonly WatchedKey[] = [
  ...guarded.map((name, index) => ({ name, bit: 1 << index })),
  ...routing.map((name) => ({ name, bit: 0 })),
];
/** The watched keys by their length. */
const keysByLength: readonly (readonly WatchedKey[])[] = Array.from({ length: longestWatched + 1 }, (_, length) =>
  watchedKeys.filter(({ name }) => name.length === length),
);
const noKeys: readonly WatchedKey[] = [];

const faults: Record<ScanFault, ErrorCode> = {
  syntax: 'invalid_json',
  not_object: 'invalid_json',
  depth: 'body_too_deep',
  keys: 'body_too_many_keys',
  long: 'invalid_json',
  forbidden_key: 'forbidden_key',
};

/**
 * Reads a call from the request body. Throws a Refusal (400) when the body is not one valid JSON object in UTF-8, repeats a
 * guarded key, or has a `model` or `stream` of the wrong type.
 */
export function readCall(received: Buffer): Call {
  const body = withoutByteOrderMark(received);
  return callOf(body, scan(body));
}

/** `readCall` for a body of any size: a large one is read in steps, so that other requests are not delayed. */
export async function readLargeCall(received: Buffer): Promise<Call> {
  const body = withoutByteOrderMark(received);
  checkText(body);
  return callOf(body, await scanLargeObject(body).catch(refuseScan));
}

/** Reads a body of any length: at once where it is short. Throws, or rejects with, what `readCall` throws. */
export function readAnyCall(received: Buffer): Call | Promise<Call> {
  return received.length <= largeBytes ? readCall(received) : readLargeCall(received);
}

/** The member of the top level with this key, which must be a guarded one, in any case. */
export function memberOf({ body, members }: Pick<Call, 'body' | 'members'>, key: string): Member | undefined {
  return members.find(({ keyStart, keyEnd }) => {
    const isPlain = !isDisguised(body, keyStart, keyEnd);
    const known = isPlain ? keyOf(body, keyStart, keyEnd) : keyNamed(disguisedText(body, keyStart, keyEnd));
    return known?.name === key;
  });
}

/** Whether a member, or a field of a form, may make a provider go to another model or place than it was asked for. */
export function routesElsewhere(name: string): boolean {
  return routing.includes(fold(name));
}

function callOf(body: Buffer, scanned: readonly Member[]): Call {
  const { model: modelMember, stream, streamOptions, routingMember } = watchedMembers(body, scanned);
  const model = modelMember && readString(body, modelMember);
  if (
    !modelMember ||
    model === undefined ||
    model.trim() === '' ||
    model.length > maxModelLength ||
    model.includes('\0')
  ) {
    throw refusal('invalid_model', { param: 'model' });
  }
  return {
    body,
    members: scanned,
    model,
    modelStart: modelMember.valueStart,
    modelEnd: modelMember.valueEnd,
    stream: readStream(body, stream),
    streamOptions,
    wantsUsage: streamOptions !== undefined && asksUsage(body, streamOptions),
    routingMember,
  };
}

function scan(body: Buffer): Member[] {
  checkText(body);
  try {
    return scanObject(body);
  } catch (error) {
    return refuseScan(error);
  }
}

function checkText(body: Buffer): void {
  if (!isUtf8(body)) throw refusal('invalid_json', { fill: { reason: 'it is not UTF-8' } });
  if (body.length === 0) throw refusal('invalid_json', { fill: { reason: 'it is empty' } });
}

function refuseScan(error: unknown): never {
  if (!(error instanceof ScanError)) throw error;
  throw refusal(faults[error.fault], { fill: { reason: reasonOf(error), limit: maxDepth } });
}

function reasonOf({ fault, at }: ScanError): string {
  if (fault === 'not_object') return 'it must be an object';
  if (fault !== 'long') return `unexpected byte at offset ${at}`;
  return `a key, a number or white space at offset ${at} is longer than ${maxTokenBytes} bytes`;
}

interface WatchedMembers {
  readonly model: Member | undefined;
  readonly stream: Member | undefined;
  readonly streamOptions: Member | undefined;
  readonly routingMember: string | undefined;
}

/** The members with these keys in their exact spelling; a guarded one that stands twice, in any spelling, is refused. And the first routing member. */
function watchedMembers(body: Buffer, scanned: readonly Member[]): WatchedMembers {
  let seen = 0;
  let model: Member | undefined;
  let stream: Member | undefined;
  let streamOptions: Member | undefined;
  let routingMember: string | undefined;
  for (const member of scanned) {
    const { keyStart, keyEnd } = member;
    const isPlain = !isDisguised(body, keyStart, keyEnd);
    const text = isPlain ? undefined : disguisedText(body, keyStart, keyEnd);
    const key = isPlain ? keyOf(body, keyStart, keyEnd) : keyNamed(text);
    if (key === undefined) continue;
    const { name, bit } = key;
    if (bit === 0) {
      routingMember ??= name;
      continue;
    }
    if ((seen & bit) !== 0) throw refusal('duplicate_key', { param: name, fill: { key: name } });
    seen |= bit;
    if (!(isPlain ? spells(body, keyStart, name) : text === name)) continue;
    if (name === 'model') model = member;
    else if (name === 'stream') stream = member;
    else if (name === 'stream_options') streamOptions = member;
  }
  return { model, stream, streamOptions, routingMember };
}

/** The watched key that these bytes of ASCII spell, in any case. No text is made of them: every call has some ten keys. */
function keyOf(body: Buffer, start: number, stop: number): WatchedKey | undefined {
  for (const key of keysByLength[stop - start] ?? noKeys) if (spellsFolded(body, start, key.name)) return key;
  return undefined;
}

/** The text of a key with escapes or other letters; undefined when it is too long for what is watched: an escaped character takes six bytes. */
function disguisedText(body: Buffer, start: number, stop: number): string | undefined {
  if (stop - start > longestWatched * 6) return undefined;
  const key = body.toString('utf8', start, stop);
  return key.includes('\\') ? (JSON.parse(`"${key}"`) as string) : key;
}

/** Whether a member of this name may make a provider go elsewhere. */
export function isRoutingMember(name: string): boolean {
  return keyNamed(name)?.bit === 0;
}

function keyNamed(text: string | undefined): WatchedKey | undefined {
  const folded = text && fold(text);
  return watchedKeys.find(({ name }) => name === folded);
}

/** A key with escapes or letters beyond ASCII may be longer than what it stands for. */
function isDisguised(body: Buffer, start: number, stop: number): boolean {
  for (let at = start; at < stop; at += 1) {
    const byte = body[at] ?? 0;
    if (byte === 0x5c || byte >= 0x80) return true;
  }
  return false;
}

/** Folds as case-insensitive readers do: the long s is an s, the Kelvin sign a k. */
function fold(key: string): string {
  return key.toUpperCase().toLowerCase();
}

/** The text of a member's value; undefined when it is none. */
export function readString(body: Buffer, { valueStart, valueEnd }: Member): string | undefined {
  if (body[valueStart] !== 0x22) return undefined;
  const text = body.toString('utf8', valueStart + 1, valueEnd - 1);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

function readStream(body: Buffer, member: Member | undefined): boolean {
  if (member === undefined) return false;
  const first = body[member.valueStart];
  if (first === 0x74) return true;
  if (first === 0x66 || first === 0x6e) return false;
  throw refusal('invalid_stream', { param: 'stream' });
}

function asksUsage(body: Buffer, { valueStart, valueEnd }: Member): boolean {
  if (body[valueStart] !== 0x7b) return false;
  if (valueEnd - valueStart > mostOptionBytes) {
    const fill = { param: 'stream_options', because: `must be an object of at most ${mostOptionBytes} bytes` };
    throw refusal('invalid_parameter', { param: 'stream_options', fill });
  }
  const options = JSON.parse(body.toString('utf8', valueStart, valueEnd)) as { include_usage?: unknown };
  return options.include_usage === true;
}

function withoutByteOrderMark(body: Buffer): Buffer {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}
