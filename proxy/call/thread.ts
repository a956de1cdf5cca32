// Which conversation a call belongs to, as far as it says: balancing by session affinity goes by it.
import { hash } from 'node:crypto';
import { skipSpace } from '../bytes/json-tokens.ts';
import { type Member, scanObject } from '../bytes/scan.ts';
import { ScanError } from '../bytes/scan-error.ts';
import { skipValue } from '../bytes/skip-value.ts';
import { spells } from '../bytes/spells.ts';
import type { Call } from './call.ts';
import { isNamed } from './head.ts';

/** Where clients name their session, the first that is there wins: our own, then those of Codex, Claude Code, LiteLLM, Helicone and others. */
const headers = [
  'x-session-id',
  'session-id',
  'session_id',
  'x-claude-code-session-id',
  'x-litellm-session-id',
  'helicone-session-id',
  'agent-session-id',
];
/** The same by their length: few headers have one of these. */
const headersByLength: readonly (readonly string[] | undefined)[] = Array.from(
  { length: 1 + Math.max(...headers.map(({ length }) => length)) },
  (_, length) => {
    const names = headers.filter((name) => name.length === length);
    return names.length === 0 ? undefined : names;
  },
);
/** Members of the body that name a session; then come those of `metadata`, and the user. */
const members = ['prompt_cache_key', 'session_id', 'litellm_session_id', 'conversation'];
/** What comes before the messages and is as much the beginning of a conversation. */
const prologues = ['system', 'instructions'];
const conversations = ['messages', 'input'];

/** Longer members are no names. Bytes. */
const longestMember = 16 * 1024;
/** So much of each part of a conversation's beginning tells it apart from others. Bytes. */
const longestBeginning = 64 * 1024;

/** How nearly every message begins: then its role is read without the rest. */
const usualRole = '{"role":"';
/** An answer among messages, as nearly all clients write it; one that is written otherwise; and an item that says of what kind it is. */
const usualAnswer = Buffer.from('{"role":"assistant"');
const assistant = Buffer.from('"assistant"');
const typed = Buffer.from('{"type":"');
const usualUser = `${usualRole}user"`;
const userBytes = Buffer.from(usualUser);

const opening = 0x7b;
const nothing: Buffer = Buffer.alloc(0);
const lineBreak = Buffer.from('\n');

export type Said = Pick<Call, 'body' | 'members'>;

/** Of a call whose body is none that names a conversation. */
export const nothingSaid: Said = { body: nothing, members: [] };

/** A call as balancing sees it. Its thread is worked out only when it is asked for. */
export class CallContext {
  /** When it is balanced: Unix milliseconds. */
  readonly nowMs: number;
  readonly #rawHeaders: readonly string[];
  readonly #call: Said;

  constructor(nowMs: number, rawHeaders: readonly string[], call: Said) {
    this.nowMs = nowMs;
    this.#rawHeaders = rawHeaders;
    this.#call = call;
  }

  /** The name of the conversation; see `threadOf`. */
  get thread(): string | undefined {
    return threadOf(this.#rawHeaders, this.#call);
  }
}

/**
 * The name of the conversation a call belongs to: what a header or the body calls it, else a digest of its beginning, up to and including
 * the first message of the user, which every later call of the conversation repeats. Undefined for a call without messages.
 */
export function threadOf(rawHeaders: readonly string[], call: Said): string | undefined {
  const named = threadOfHeaders(rawHeaders) ?? threadOfMembers(call) ?? nameOfUser(call);
  if (named !== undefined) return named;
  const beginning = beginningOf(call);
  return beginning && hash('sha256', joined(beginning), 'base64url');
}

/** What a header calls the conversation. */
export function threadOfHeaders(rawHeaders: readonly string[]): string | undefined {
  let found: string | undefined;
  let rank = headers.length;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] as string;
    const names = headersByLength[header.length];
    if (names === undefined) continue;
    for (const name of names) {
      if (!isNamed(header, name) || !rawHeaders[index + 1]) continue;
      const own = headers.indexOf(name);
      if (own >= rank) continue;
      rank = own;
      found = rawHeaders[index + 1];
    }
  }
  return found;
}

/** What a member of the body calls the conversation. */
export function threadOfMembers(call: Said): string | undefined {
  for (const name of members) {
    const found = nameIn(readMember(call, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What `metadata` names: a session, and a user. */
export function threadOfMetadata(call: Said): {
  readonly session?: string | undefined;
  readonly user?: string | undefined;
} {
  const metadata = readMember(call, 'metadata');
  if (!isObject(metadata)) return {};
  return { session: nameIn(metadata['session_id']), user: nameIn(metadata['user_id']) };
}

/** What a call without a session calls its user, or its session in `metadata`. */
function nameOfUser(call: Said): string | undefined {
  const { session, user } = threadOfMetadata(call);
  return session ?? user ?? nameIn(readMember(call, 'user'));
}

/** A name, or an object with an `id` (`conversation` of OpenAI). */
function nameIn(value: unknown): string | undefined {
  const name = isObject(value) ? value['id'] : value;
  return typeof name === 'string' && name !== '' ? name : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The value of a member, unless it is very long. The body was checked to be JSON. */
function readMember(call: Said, name: string): unknown {
  const member = memberOf(call, name);
  if (member === undefined || member.valueEnd - member.valueStart > longestMember) return undefined;
  return JSON.parse(call.body.toString('utf8', member.valueStart, member.valueEnd));
}

function memberOf({ body, members: all }: Said, name: string): Member | undefined {
  for (const member of all) {
    if (member.keyEnd - member.keyStart === name.length && spells(body, member.keyStart, name)) return member;
  }
  return undefined;
}

/** What every call of a conversation begins with: the prologues, and the messages up to and including the first one of the user. */
export function beginningOf(call: Said): readonly Buffer[] | undefined {
  const messages = messagesOf(call);
  if (messages === undefined) return undefined;
  const turn = messages.subarray(0, firstTurnEnd(messages));
  const starts = prologues.map((name) => startOf(call, name));
  if (starts.every((start) => start === undefined)) return [turn];
  return [...starts.flatMap((start) => [start ?? nothing, lineBreak]), turn];
}

/** The parts of a beginning in one piece, which most have only one of. */
function joined(parts: readonly Buffer[]): Buffer {
  const [first = nothing] = parts;
  return parts.length === 1 ? first : Buffer.concat(parts);
}

function messagesOf(call: Said): Buffer | undefined {
  for (const name of conversations) {
    const start = startOf(call, name);
    if (start?.[0] === 0x5b) return start;
  }
  return undefined;
}

/** The first bytes of a member's value. */
function startOf(call: Said, name: string): Buffer | undefined {
  const member = memberOf(call, name);
  if (member === undefined) return undefined;
  return call.body.subarray(member.valueStart, Math.min(member.valueEnd, member.valueStart + longestBeginning));
}

/**
 * Just past the first message of the user in a list of messages; the end of the text when it is not in it. In nearly all lists it is what
 * stands before the first answer: then the messages are not read.
 */
function firstTurnEnd(list: Buffer): number {
  const user = list.indexOf(userBytes);
  // Most conversations begin with a message of the user, and many calls have only that one.
  if (user === 1 && list.indexOf(opening, user + 1) === -1) return trimmed(list, list.length);
  const hasAnswer = list.includes(assistant);
  const answer = hasAnswer ? list.indexOf(usualAnswer) : -1;
  const end = answer === -1 ? list.length : answer;
  const second = user === -1 ? -1 : list.indexOf(userBytes, user + 1);
  const isUsual = user !== -1 && user < end && (second === -1 || second > end);
  // Items of other kinds have no role; they may stand behind the user's.
  if (!isUsual || list.includes(typed) || (answer === -1 && hasAnswer)) return firstUserEnd(list);
  return trimmed(list, end);
}

/** The end of the message before `from`. */
function trimmed(list: Buffer, from: number): number {
  let end = from;
  while (end > 0 && isBetween(list[end - 1] as number)) end -= 1;
  return end;
}

/** What stands between messages, and at their end. */
function isBetween(byte: number): boolean {
  return byte === 0x2c || byte === 0x5d || byte <= 0x20;
}

/** The same of any list, message by message. */
function firstUserEnd(list: Buffer): number {
  try {
    for (let at = skipSpace(list, 1); list[at] === opening; ) {
      const end = skipValue(list, at);
      if (spells(list, at, usualUser)) return end;
      if (!spells(list, at, usualRole) && isOfUser(list.subarray(at, end))) return end;
      const comma = skipSpace(list, end);
      at = skipSpace(list, comma + 1);
    }
  } catch (error) {
    // The text ends within a message.
    if (!(error instanceof ScanError)) throw error;
  }
  return list.length;
}

function isOfUser(message: Buffer): boolean {
  const role = memberOf({ body: message, members: scanObject(message) }, 'role');
  return role !== undefined && role.valueEnd - role.valueStart === 6 && spells(message, role.valueStart, '"user"');
}
