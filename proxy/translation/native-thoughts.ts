// Thoughts in a body that goes out as the client wrote it, of which the server cannot have the proof: another provider thought so. It refuses them.

import { skipSpace } from '../bytes/json-tokens.ts';
import { memberNamed } from '../bytes/member-named.ts';
import { memberTextStarts } from '../bytes/member-texts.ts';
import { standsIn } from '../bytes/outside-texts.ts';
import { scanObject } from '../bytes/scan.ts';
import { skipValue } from '../bytes/skip-value.ts';
import type { Edit } from '../bytes/splice.ts';
import type { Call } from '../call/call.ts';
import { isSignedHere, isSignedHereAt } from '../dialects/foreign-signature.ts';
import { type JsonObject, parseObject, textOf } from '../dialects/json/json.ts';
import type { TargetSpeech } from '../providers/target-speeches.ts';

interface Rule {
  /** The member of a thought that has its proof, in quotes. */
  readonly key: Buffer;
  /** Of a proof that begins at this byte. */
  readonly isForeignAt: (body: Buffer, start: number) => boolean;
  /** A part of the conversation that is such a thought. */
  readonly isThought: (part: JsonObject) => boolean;
  /** The list of all that was said, and the list in each of its entries that has the parts. */
  readonly list: 'input' | 'messages';
  readonly inner?: 'content';
}

const signed: Rule = {
  key: Buffer.from('"signature"'),
  isForeignAt: isSignedHereAt,
  isThought: ({ type, signature }) => type === 'thinking' && isSignedHere(textOf(signature)),
  list: 'messages',
  inner: 'content',
};
/** Anthropic itself signs every thought; servers that imitate it may not. */
const alwaysSigned: Rule = {
  ...signed,
  isForeignAt: (body, start) => body[start + 1] === 0x22 || isSignedHereAt(body, start),
  isThought: (part) => signed.isThought(part) || (part['type'] === 'thinking' && part['signature'] === ''),
};
const ofResponses: Rule = {
  key: Buffer.from('"encrypted_content"'),
  isForeignAt: isSignedHereAt,
  isThought: ({ type, encrypted_content }) => type === 'reasoning' && isSignedHere(textOf(encrypted_content)),
  list: 'input',
};
const none: readonly Edit[] = Object.freeze([]);
const nothing = Buffer.alloc(0);

type Speech = Pick<TargetSpeech, 'format' | 'quirks'>;

function ruleOf({ format, quirks }: Speech): Rule | undefined {
  if (format === 'messages' || format === 'count_tokens') return quirks.isInventor === true ? alwaysSigned : signed;
  return format === 'responses' || format === 'compact' || format === 'input_tokens' ? ofResponses : undefined;
}

/**
 * The edits that remove such thoughts from a valid JSON body, in order; none where there are none, which is found
 * without parsing.
 */
export function foreignThoughtEdits(
  { body, members }: Pick<Call, 'body' | 'members'>,
  speech: Speech,
): readonly Edit[] {
  const rule = ruleOf(speech);
  if (rule === undefined || !members.some((member) => standsIn(body, member, rule.key))) return none;
  const { key, isForeignAt, list, inner, isThought } = rule;
  let isThere = false;
  for (const start of memberTextStarts(body, key)) isThere ||= isForeignAt(body, start);
  if (!isThere) return none;
  const isOut = (part: Span): boolean => {
    const value = parseObject(body.toString('utf8', part.start, part.end));
    return value !== undefined && isThought(value);
  };
  const entries = listIn(body, { start: 0, end: body.length }, list);
  if (inner === undefined) return cut(entries, new Set(entries.filter(isOut)));
  const empty = new Set<Span>();
  const edits: Edit[] = [];
  for (const entry of entries) {
    const parts = listIn(body, entry, inner);
    const out = new Set(parts.filter(isOut));
    if (out.size === 0) continue;
    if (out.size === parts.length) empty.add(entry);
    else edits.push(...cut(parts, out));
  }
  return [...edits, ...cut(entries, empty)].sort((one, other) => one.start - other.start);
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** The entries of the list that is this member of the object; none where it is no list. */
function listIn(body: Buffer, { start, end }: Span, name: string): readonly Span[] {
  const first = skipSpace(body, start);
  if (body[first] !== 0x7b) return [];
  const object = body.subarray(first, end);
  const member = memberNamed(object, scanObject(object), name);
  if (member === undefined || object[member.valueStart] !== 0x5b) return [];
  const entries: Span[] = [];
  const last = first + member.valueEnd - 1;
  for (let at = skipSpace(body, first + member.valueStart + 1); at < last; ) {
    const behind = skipValue(body, at);
    entries.push({ start: at, end: behind });
    // Behind the comma.
    at = skipSpace(body, skipSpace(body, behind) + 1);
  }
  return entries;
}

/** Takes entries out of a list, each with a comma beside it. */
function cut(entries: readonly Span[], out: ReadonlySet<Span>): readonly Edit[] {
  const kept = entries.filter((entry) => !out.has(entry));
  const lastKept = kept.at(-1);
  return entries.flatMap((entry, index) => {
    if (!out.has(entry)) return [];
    const next = entries[index + 1];
    const isBehind = lastKept === undefined || entry.start > lastKept.start;
    // Behind the last one that stays, the comma before it goes; else the one behind it.
    const start = isBehind ? (entries[index - 1]?.end ?? entry.start) : entry.start;
    const end = isBehind ? entry.end : (next?.start ?? entry.end);
    return [{ start, end, bytes: nothing }];
  });
}
