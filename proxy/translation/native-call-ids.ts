// Ids of calls in a body that goes out as the client wrote it: another provider may have given them, and its server refuses them.
import type { Edit } from '../bytes/splice.ts';
import { callForms, strictChatId, type TextForm } from '../dialects/call-forms.ts';
import type { Speakable } from '../providers/row.ts';
import type { TargetSpeech } from '../providers/target-speeches.ts';
import { Fitted, isOfForm } from './fitted-texts.ts';

interface Rule {
  /** The member that names the call of a result, as it stands in a body. In texts that hold JSON its quotes are escaped. */
  readonly member: 'tool_call_id' | 'tool_use_id' | 'call_id';
  readonly form: TextForm;
}

const keys = {
  tool_call_id: Buffer.from('"tool_call_id"'),
  tool_use_id: Buffer.from('"tool_use_id"'),
  call_id: Buffer.from('"call_id"'),
  id: Buffer.from('"id"'),
};
const ofMessages: Rule = { member: 'tool_use_id', form: callForms.messages.id };
const ofResponses: Rule = { member: 'call_id', form: callForms.responses.id };
const rules: Readonly<Partial<Record<Speakable, Rule>>> = {
  messages: ofMessages,
  count_tokens: ofMessages,
  responses: ofResponses,
  compact: ofResponses,
  input_tokens: ofResponses,
};

/** Undefined: nothing is known that the server would refuse. */
function ruleOf({ format, quirks }: Pick<TargetSpeech, 'format' | 'quirks'>, model: string): Rule | undefined {
  if (format !== 'chat') return rules[format];
  const form = strictChatId({ model, quirks }) ?? (quirks.isInventor === true ? callForms.chat.id : undefined);
  return form && { member: 'tool_call_id', form };
}

/**
 * What has to change of a body that is valid JSON, in order; nothing where all ids are taken, which is found without reading it. Calls without a
 * result are not looked for: servers refuse those.
 */
export function callIdEdits(
  body: Buffer,
  speech: Pick<TargetSpeech, 'format' | 'quirks'>,
  model: string,
): readonly Edit[] {
  const rule = ruleOf(speech, model);
  if (rule === undefined) return none;
  const { member, form } = rule;
  if (!body.includes(keys[member])) return none;
  const ids = new Fitted(form);
  const odd = new Set<string>();
  for (const { text } of textsOf(body, member)) {
    ids.add(text);
    if (!isOfForm(text, form)) odd.add(text);
  }
  if (odd.size === 0) return none;
  const edits: Edit[] = [];
  // Responses names both alike.
  for (const key of member === 'call_id' ? [member] : ([member, 'id'] as const)) {
    for (const { text, start, end } of textsOf(body, key))
      if (odd.has(text)) edits.push({ start, end, bytes: Buffer.from(JSON.stringify(ids.of(text))) });
  }
  return edits.sort((one, other) => one.start - other.start);
}

const none: readonly Edit[] = Object.freeze([]);
const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];

interface Found {
  readonly text: string;
  /** With its quotes. */
  readonly start: number;
  readonly end: number;
}

/** The texts that are values of a member of this name, wherever it stands. The body is valid JSON. */
function* textsOf(body: Buffer, member: keyof typeof keys): Generator<Found, void, undefined> {
  const key = keys[member];
  for (let at = body.indexOf(key); at !== -1; at = body.indexOf(key, at + key.length)) {
    if (body[at - 1] === backslash) continue;
    const behind = skipBlanks(body, at + key.length);
    if (body[behind] !== colon) continue;
    const start = skipBlanks(body, behind + 1);
    if (body[start] !== quote) continue;
    const end = endOfText(body, start);
    yield { text: JSON.parse(body.toString('utf8', start, end)) as string, start, end };
  }
}

function skipBlanks(body: Buffer, from: number): number {
  let at = from;
  while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at += 1;
  return at;
}

/** Behind the quote that ends the text which begins at `start`. */
function endOfText(body: Buffer, start: number): number {
  let at = start + 1;
  while (at < body.length && body[at] !== quote) at += body[at] === backslash ? 2 : 1;
  return at + 1;
}
