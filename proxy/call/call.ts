// What a model call says about itself: its model, whether it streams, and where those words stand in its bytes.
import { isUtf8 } from 'node:buffer';
import { type Member, maxDepth, ScanError, type ScanFault, scanLargeObject, scanObject } from '../bytes/scan.ts';
import { type ErrorCode, refusal } from '../errors.ts';

/** A validated model call. Offsets count bytes of `body`. */
export interface Call {
  /** The client's bytes, without a byte order mark. */
  readonly body: Buffer;
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
}

/** Longest model name accepted, in characters. */
const maxModelLength = 1024;

/** Keys that must not stand twice, whatever their case: an upstream might obey the other one. */
const guarded = new Set(['model', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'n', 'user']);
/** Routing of OpenRouter and LiteLLM: a provider that is itself a gateway obeys these instead of `model` and of its own settings. */
const routing = new Set(
  (
    'models fallbacks route api_base api_key base_url ' +
    'model_list user_config context_window_fallbacks content_policy_fallbacks'
  ).split(' '),
);
const watchedLengths = new Set([...guarded, ...routing].map((key) => key.length));
const longestWatched = Math.max(...watchedLengths);

const faults: Record<ScanFault, ErrorCode> = {
  syntax: 'invalid_json',
  not_object: 'invalid_json',
  depth: 'body_too_deep',
  keys: 'body_too_many_keys',
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

/** The same for a body of any size: a large one is read in steps, so that other requests are not held up. */
export async function readLargeCall(received: Buffer): Promise<Call> {
  const body = withoutByteOrderMark(received);
  checkText(body);
  return callOf(body, await scanLargeObject(body).catch(refuseScan));
}

function callOf(body: Buffer, scanned: readonly Member[]): Call {
  const { members, routingMember } = watchedMembers(body, scanned);
  const modelMember = members.get('model');
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
  const streamOptions = members.get('stream_options');
  return {
    body,
    model,
    modelStart: modelMember.valueStart,
    modelEnd: modelMember.valueEnd,
    stream: readStream(body, members.get('stream')),
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
  const reason = error.fault === 'not_object' ? 'it must be an object' : `unexpected byte at offset ${error.at}`;
  throw refusal(faults[error.fault], { fill: { reason, limit: maxDepth } });
}

/** The guarded keys in their exact spelling; one that stands twice, in any spelling, is refused. And the first routing member. */
function watchedMembers(
  body: Buffer,
  scanned: readonly Member[],
): { members: Map<string, Member>; routingMember: string | undefined } {
  const seen = new Set<string>();
  const members = new Map<string, Member>();
  let routingMember: string | undefined;
  for (const member of scanned) {
    const key = watchedKey(body, member);
    if (key === undefined) continue;
    const folded = fold(key);
    if (guarded.has(folded)) {
      if (seen.has(folded)) throw refusal('duplicate_key', { param: folded, fill: { key: folded } });
      seen.add(folded);
      members.set(key, member);
    } else routingMember ??= folded;
  }
  return { members, routingMember };
}

/** The key's text when it may be one of those above; undefined for all others, cheaply. */
function watchedKey(body: Buffer, { keyStart, keyEnd }: Member): string | undefined {
  const length = keyEnd - keyStart;
  // An escaped character takes six bytes at most.
  if (length > longestWatched * 6 || !(watchedLengths.has(length) || isDisguised(body, keyStart, keyEnd)))
    return undefined;
  let key = body.toString('utf8', keyStart, keyEnd);
  if (key.includes('\\')) key = JSON.parse(`"${key}"`) as string;
  const folded = fold(key);
  return guarded.has(folded) || routing.has(folded) ? key : undefined;
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

function readString(body: Buffer, { valueStart, valueEnd }: Member): string | undefined {
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
  const options = JSON.parse(body.toString('utf8', valueStart, valueEnd)) as { include_usage?: unknown };
  return options.include_usage === true;
}

function withoutByteOrderMark(body: Buffer): Buffer {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}
