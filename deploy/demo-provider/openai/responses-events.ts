// Writes answers of the demo model as the events of a streamed response, with every event that begins or ends something.
import type { Streamed } from '../http.ts';
import type { Answer, Said } from '../model.ts';
import { joinTokens } from '../model.ts';
import type { Body } from '../requests.ts';
import { describeResponse, type Item, writeItem, writeResponse } from './responses.ts';

type Event = { readonly type: string; readonly isToken?: boolean; readonly [member: string]: unknown };

/** The events from `response.created` to `response.completed` (or `response.incomplete`), numbered from 0. */
export function* streamResponse(answer: Answer, seed: string, body: Body): Generator<Streamed> {
  let sequence = 0;
  for (const { isToken = false, ...event } of allEvents(answer, seed, body)) {
    const data = { ...event, sequence_number: sequence };
    sequence += 1;
    yield isToken ? { data, isToken } : { data };
  }
}

function* allEvents(answer: Answer, seed: string, body: Body): Generator<Event> {
  const begun = describeResponse(answer.model, seed, body);
  const whole = writeResponse(answer, seed, body);
  const done = 'output' in whole && Array.isArray(whole.output) ? (whole.output as Item[]) : [];
  yield { type: 'response.created', response: begun };
  yield { type: 'response.in_progress', response: begun };
  for (const [index, said] of answer.said.entries()) {
    const item = writeItem(said, index, seed, body);
    yield { type: 'response.output_item.added', output_index: index, item: opened(item) };
    yield* partEvents(said, { item_id: item.id, output_index: index });
    yield { type: 'response.output_item.done', output_index: index, item: done[index] ?? item };
  }
  yield { type: answer.finish === 'length' ? 'response.incomplete' : 'response.completed', response: whole };
}

/** An item that has begun and says nothing. */
function opened(item: Item): object {
  if (item.type === 'reasoning') return { ...item, summary: [] };
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] };
  return { ...item, status: 'in_progress', [item.type === 'function_call' ? 'arguments' : 'input']: '' };
}

type OutputPlace = { readonly item_id: string; readonly output_index: number };

function partEvents(said: Said, place: OutputPlace): Generator<Event> {
  if (said.kind === 'thought') return summaryEvents(said, place);
  return said.kind === 'text' ? textEvents(said, place) : callEvents(said, place);
}

function* summaryEvents(said: Said, item: OutputPlace): Generator<Event> {
  const at = { ...item, summary_index: 0 };
  const part = { type: 'summary_text', text: joinTokens(said) };
  yield { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } };
  for (const delta of said.tokens) {
    yield { type: 'response.reasoning_summary_text.delta', ...at, delta, isToken: true };
  }
  yield { type: 'response.reasoning_summary_text.done', ...at, text: part.text };
  yield { type: 'response.reasoning_summary_part.done', ...at, part };
}

function* textEvents(said: Said, item: OutputPlace): Generator<Event> {
  const at = { ...item, content_index: 0 };
  const part = { type: 'output_text', annotations: [], logprobs: [], text: joinTokens(said) };
  yield { type: 'response.content_part.added', ...at, part: { ...part, text: '' } };
  for (const delta of said.tokens) {
    yield { type: 'response.output_text.delta', ...at, delta, logprobs: [], isToken: true };
  }
  yield { type: 'response.output_text.done', ...at, text: part.text, logprobs: [] };
  yield { type: 'response.content_part.done', ...at, part };
}

function* callEvents(said: Said & { readonly kind: 'call' }, at: OutputPlace): Generator<Event> {
  const kind = said.isFreeText ? 'custom_tool_call_input' : 'function_call_arguments';
  for (const delta of said.tokens) yield { type: `response.${kind}.delta`, ...at, delta, isToken: true };
  const ended = said.isFreeText ? { input: joinTokens(said) } : { name: said.name, arguments: joinTokens(said) };
  yield { type: `response.${kind}.done`, ...at, ...ended };
}
