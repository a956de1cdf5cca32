// Ids of calls in a body that goes out as the client wrote it: another provider may have given them, and its server refuses them.
import { memberTexts } from '../bytes/member-texts.ts';
import { standsIn } from '../bytes/outside-texts.ts';
import type { Edit } from '../bytes/splice.ts';
import type { Call } from '../call/call.ts';
import { callForms, strictChatId, type TextForm } from '../dialects/tools/call-forms.ts';
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
 * The edits that make the call ids of a valid JSON body acceptable to its server, in order; none where all ids are
 * accepted, which is found without parsing. Calls without a result are not searched: servers refuse those.
 */
export function callIdEdits(
  { body, members }: Pick<Call, 'body' | 'members'>,
  speech: Pick<TargetSpeech, 'format' | 'quirks'>,
  model: string,
): readonly Edit[] {
  const rule = ruleOf(speech, model);
  if (rule === undefined) return none;
  const { member, form } = rule;
  if (!members.some((one) => standsIn(body, one, keys[member]))) return none;
  const ids = new Fitted(form);
  const odd = new Set<string>();
  for (const { text } of memberTexts(body, keys[member])) {
    ids.add(text);
    if (!isOfForm(text, form)) odd.add(text);
  }
  if (odd.size === 0) return none;
  const edits: Edit[] = [];
  // Responses names both alike.
  for (const key of member === 'call_id' ? [member] : ([member, 'id'] as const)) {
    for (const { text, start, end } of memberTexts(body, keys[key]))
      if (odd.has(text)) edits.push({ start, end, bytes: Buffer.from(JSON.stringify(ids.of(text))) });
  }
  return edits.sort((one, other) => one.start - other.start);
}

const none: readonly Edit[] = Object.freeze([]);
