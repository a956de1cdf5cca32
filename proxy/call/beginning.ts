// The beginning that all calls of a conversation share: it identifies a conversation without a name.
import { skipSpace } from '../bytes/json-tokens.ts';
import { memberNamed } from '../bytes/member-named.ts';
import { standsIn } from '../bytes/outside-texts.ts';
import { type Member, mostEnds, scanObject } from '../bytes/scan.ts';
import { spells } from '../bytes/spells.ts';
import type { Call } from './call.ts';

/** The members that may hold the messages: the first of them that is a list. */
const conversations = ['messages', 'input'];
/** The bytes of each part of a beginning that are compared. */
const longestBeginning = 64 * 1024;

/** How nearly every message begins: then its role is read without the rest. */
const usualRole = '{"role":"';
const usualUser = `${usualRole}user"`;

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
    return partOf(body, member, firstTurnEnd(body, member));
  }
  return undefined;
}

/** The first bytes of a member's value. */
function startOf(call: Said, name: string): Buffer | undefined {
  const member = memberNamed(call.body, call.members, name);
  return member && partOf(call.body, member, member.valueEnd);
}

/** What is compared of a member's value, up to `end`. */
function partOf(body: Buffer, member: Member, valueEnd: number): Buffer {
  const { valueStart } = member;
  const end = Math.min(valueEnd, valueStart + longestBeginning);
  const part = body.subarray(valueStart, end);
  return standsIn(body, member, mark, end) || standsIn(body, member, textKey, end) ? unmarked(part) : part;
}

/** Just past the first message of the user in a list of messages; without one, past the list, or past the last entry whose end is known. */
function firstTurnEnd(body: Buffer, { valueStart, valueEnd, ends }: Member): number {
  let start = skipSpace(body, valueStart + 1);
  for (const end of ends) {
    if (isOfUser(body, start, end)) return end;
    // Behind the comma.
    start = skipSpace(body, skipSpace(body, end) + 1);
  }
  return ends.length < mostEnds ? valueEnd : (ends.at(-1) ?? valueEnd);
}

function isOfUser(body: Buffer, start: number, end: number): boolean {
  if (spells(body, start, usualUser)) return true;
  if (body[start] !== opening || spells(body, start, usualRole)) return false;
  const message = body.subarray(start, end);
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
 * written as a list.
 */
function unmarked(json: Buffer): Buffer {
  const written = json.toString('latin1').replace(marks, '').replace(listOfOne, '$1$2');
  return Buffer.from(written, 'latin1');
}
