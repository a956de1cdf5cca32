// The beginning that all calls of a conversation share: it identifies a conversation without a name.
import { skipSpace } from '../bytes/json-tokens.ts';
import { memberNamed } from '../bytes/member-named.ts';
import { type Member, scanObject } from '../bytes/scan.ts';
import { ScanError } from '../bytes/scan-error.ts';
import { skipValue } from '../bytes/skip-value.ts';
import { spells } from '../bytes/spells.ts';
import type { Call } from './call.ts';

/** The members that may hold the messages: the first of them that is a list. */
const conversations = ['messages', 'input'];
/** The bytes of each part of a beginning that are compared. */
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

/** The body of a call, and the members of its top level. */
export type Said = Pick<Call, 'body' | 'members'>;

/**
 * The beginning that all calls of a conversation share: the parts before the messages, and the messages up to the first
 * one of the user; without marks of prompt caches.
 */
export function beginningOf(call: Said): readonly Buffer[] | undefined {
  const turn = firstTurnOf(call);
  if (turn === undefined) return undefined;
  const system = startOf(call, 'system');
  const instructions = startOf(call, 'instructions');
  if (system === undefined && instructions === undefined) return [turn];
  return [system ?? nothing, lineBreak, instructions ?? nothing, lineBreak, turn];
}

/** The list of messages up to the end of the first one of the user. */
function firstTurnOf(call: Said): Buffer | undefined {
  const { body } = call;
  for (const name of conversations) {
    const member = memberNamed(body, call.members, name);
    if (member === undefined || body[member.valueStart] !== 0x5b) continue;
    const list = body.subarray(member.valueStart, beginningEnd(member));
    return unmarked(list.subarray(0, firstTurnEnd(list)));
  }
  return undefined;
}

/** The first bytes of a member's value. */
function startOf(call: Said, name: string): Buffer | undefined {
  const member = memberNamed(call.body, call.members, name);
  return member && unmarked(call.body.subarray(member.valueStart, beginningEnd(member)));
}

function beginningEnd({ valueStart, valueEnd }: Member): number {
  return Math.min(valueEnd, valueStart + longestBeginning);
}

/**
 * Just past the first message of the user in a list of messages; the end of the text when it is not in it. In nearly all lists it is what
 * stands before the first answer: then the messages are not read.
 */
function firstTurnEnd(list: Buffer): number {
  // Most conversations begin with a message of the user, and many calls have only that one.
  if (spells(list, 1, usualUser) && list.indexOf(opening, usualUser.length) === -1) return trimmed(list, list.length);
  const answer = list.indexOf(usualAnswer);
  const before = answer === -1 ? list : list.subarray(0, answer);
  const user = before.indexOf(userBytes);
  const isUsual = user !== -1 && before.indexOf(userBytes, user + 1) === -1;
  // Items of other kinds have no role; they may stand behind the user's.
  if (!isUsual || before.includes(typed) || (answer === -1 && list.includes(assistant))) return firstUserEnd(list);
  return trimmed(before, before.length);
}

/** The end of the message before `from`. */
function trimmed(list: Buffer, from: number): number {
  let end = from;
  while (end > 0 && isBetween(list[end - 1] as number)) end -= 1;
  return end;
}

/** Whether a byte may stand between messages, or at their end. */
function isBetween(byte: number): boolean {
  return byte === 0x2c || byte === 0x5d || byte <= 0x20;
}

/** The end of the first message of the user in any list, message by message. */
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
  const role = memberNamed(message, scanObject(message), 'role');
  return role !== undefined && role.valueEnd - role.valueStart === 6 && spells(message, role.valueStart, '"user"');
}

const mark = Buffer.from('"cache_control"');
const textKey = Buffer.from('"text"');
/** Within a text its quotes would be escaped. */
const marks = /,\s*"cache_control"\s*:\s*(?:null|\{[^{}]*\})|"cache_control"\s*:\s*(?:null|\{[^{}]*\})\s*,?/g;
const text = /"[^"\\]*(?:\\.[^"\\]*)*"/.source;
const type = /"type"\s*:\s*"text"/.source;
const block = `\\{\\s*(?:${type}\\s*,\\s*"text"\\s*:\\s*(${text})|"text"\\s*:\\s*(${text})\\s*,\\s*${type})\\s*\\}`;
const listOfOne = new RegExp(`\\[\\s*${block}\\s*\\]`, 'gs');

/**
 * JSON, which may end early, without members `cache_control`, and with each list of one text as that text: a text that is marked has to be
 * written as a list. What has neither is given back as it is.
 */
function unmarked(json: Buffer): Buffer {
  if (!json.includes(mark) && !json.includes(textKey)) return json;
  const written = json.toString('latin1').replace(marks, '').replace(listOfOne, '$1$2');
  return Buffer.from(written, 'latin1');
}
