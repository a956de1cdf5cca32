// Answers of models in the Responses format, as a whole and as a stream.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import {
  cut,
  isSpoken,
  json,
  model,
  namedEvents,
  type Pace,
  type SaidPart,
  type SaidText,
  type Telling,
  textIn,
  woven,
} from './said-answer.ts';

/** What is spoken in a row is one message. */
function grouped(parts: readonly SaidPart[]): readonly (Exclude<SaidPart, SaidText> | readonly SaidText[])[] {
  const found: (Exclude<SaidPart, SaidText> | SaidText[])[] = [];
  for (const part of parts) {
    const last = found.at(-1);
    if (!isSpoken(part)) found.push(part);
    else if (Array.isArray(last)) last.push(part);
    else found.push([part]);
  }
  return found;
}

function outputOf({ said, toolOf }: Telling): readonly JsonObject[] {
  const status = 'completed';
  return grouped(said.parts).map((group, at): JsonObject => {
    if (!('kind' in group)) {
      const content = group.map(({ kind, text }) =>
        kind === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] },
      );
      return { id: `msg_${said.id}_${at}`, type: 'message', role: 'assistant', status, content };
    }
    if (group.kind === 'thought') {
      const summary = group.text === '' ? [] : [{ type: 'summary_text', text: group.text }];
      return { id: `rs_${said.id}_${at}`, type: 'reasoning', summary, encrypted_content: group.proof };
    }
    const { name, isFree } = toolOf(group);
    const call_id = group.id ?? `call_${said.id}_${at}`;
    if (isFree)
      return {
        id: `ctc_${said.id}_${at}`,
        type: 'custom_tool_call',
        status,
        call_id,
        name,
        input: group.input['input'],
      };
    return { id: `fc_${said.id}_${at}`, type: 'function_call', status, call_id, name, arguments: json(group.input) };
  });
}

export function wholeResponses(telling: Telling): JsonObject {
  const { id, isCut, usage } = telling.said;
  const counts = {
    input_tokens: usage.input + usage.cached,
    input_tokens_details: { cached_tokens: usage.cached },
    output_tokens: usage.output,
    total_tokens: usage.input + usage.cached + usage.output,
  };
  const end = isCut
    ? { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    : { status: 'completed' };
  const output = outputOf(telling);
  return { id: `resp_${id}`, object: 'response', created_at: 1, model, output, usage: counts, ...end };
}

export function streamResponses(telling: Telling): Buffer {
  const { pace } = telling;
  const whole = wholeResponses(telling);
  const items = outputOf(telling).map((item, output_index): readonly JsonObject[] => [
    { type: 'response.output_item.added', output_index, item: begunItem(item) },
    ...itemEvents(item, pace).map((event): JsonObject => ({ ...event, item_id: item['id'], output_index })),
    { type: 'response.output_item.done', output_index, item },
  ]);
  return namedEvents([
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [], usage: null } },
    ...woven(items, pace),
    { type: whole['status'] === 'completed' ? 'response.completed' : 'response.incomplete', response: whole },
  ]);
}

function begunItem(item: JsonObject): JsonObject {
  if (item['type'] === 'reasoning') return { ...item, summary: [], encrypted_content: '' };
  const empty = { message: { content: [] }, function_call: { arguments: '' }, custom_tool_call: { input: '' } };
  return { ...item, ...empty[item['type'] as 'message'], status: 'in_progress' };
}

function itemEvents(item: JsonObject, pace: Pace): readonly JsonObject[] {
  const texts = (key: string): readonly JsonObject[] => (item[key] ?? []) as readonly JsonObject[];
  const grown = (name: string, key: string): readonly JsonObject[] => [
    ...cut(textIn(item, key), pace).map((delta) => ({ type: `response.${name}.delta`, delta })),
    { type: `response.${name}.done`, [key]: item[key] },
  ];
  if (item['type'] === 'function_call') return grown('function_call_arguments', 'arguments');
  if (item['type'] === 'custom_tool_call') return grown('custom_tool_call_input', 'input');
  if (item['type'] === 'reasoning') {
    return texts('summary').flatMap((part, summary_index) => [
      { type: 'response.reasoning_summary_part.added', summary_index, part: { ...part, text: '' } },
      ...cut(textIn(part, 'text'), pace).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        summary_index,
        delta,
      })),
      { type: 'response.reasoning_summary_text.done', summary_index, text: part['text'] },
    ]);
  }
  return texts('content').flatMap((part, content_index) => {
    const key = part['type'] === 'refusal' ? 'refusal' : 'text';
    const name = `response.${key === 'text' ? 'output_text' : key}`;
    return [
      { type: 'response.content_part.added', content_index, part: { ...part, [key]: '' } },
      ...cut(textIn(part, key), pace).map((delta) => ({ type: `${name}.delta`, content_index, delta })),
      { type: `${name}.done`, content_index, [key]: part[key] },
      { type: 'response.content_part.done', content_index, part },
    ];
  });
}
