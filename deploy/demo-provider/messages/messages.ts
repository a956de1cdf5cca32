// Writes answers of the demo model as messages (Anthropic): at once, as the events of a stream, and its errors.
import type { Streamed } from '../http.ts';
import { type Answer, joinTokens, type Said } from '../model.ts';
import { isObject, type Refusal } from '../requests.ts';
import { seal } from '../thoughts.ts';

const stopReasons = {
  stop: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  calls: 'tool_use',
} as const;
const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
};

/** How an answer is written: `seed` makes its ids; `showsThoughts`: with the words of the thoughts, not their signature alone. */
export type MessageStyle = { readonly seed: string; readonly showsThoughts: boolean };

/** The answer as one object. */
export function writeMessage(answer: Answer, style: MessageStyle): object {
  return {
    ...describeMessage(answer, style),
    content: answer.said.map((said, index) => writeBlock(said, index, style)),
    stop_reason: stopReasons[answer.finish],
    stop_sequence: answer.stopSequence,
    usage: usageOf(answer, answer.usage.output),
  };
}

/** The answer as events, from `message_start` to `message_stop`. */
export function* streamMessage(answer: Answer, style: MessageStyle): Generator<Streamed> {
  const message = { ...describeMessage(answer, style), content: [], stop_reason: null, stop_sequence: null };
  yield { data: { type: 'message_start', message: { ...message, usage: usageOf(answer, 1) } } };
  for (const [index, said] of answer.said.entries()) {
    yield { data: { type: 'content_block_start', index, content_block: openBlock(said, index, style) } };
    if (index === 0) yield { data: { type: 'ping' } };
    for (const delta of deltasOf(said, style)) {
      yield { data: { type: 'content_block_delta', index, delta }, isToken: delta.type !== 'signature_delta' };
    }
    yield { data: { type: 'content_block_stop', index } };
  }
  const delta = { stop_reason: stopReasons[answer.finish], stop_sequence: answer.stopSequence };
  yield { data: { type: 'message_delta', delta, usage: countsOf(answer, answer.usage.output) } };
  yield { data: { type: 'message_stop' } };
}

/** An error as this API has it. */
export function writeMessagesError({ status, message }: Refusal, requestId: string): object {
  const type = errorTypes[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  return { type: 'error', error: { type, message }, request_id: requestId };
}

function describeMessage({ model }: Answer, { seed }: MessageStyle): object {
  return { id: `msg_${seed.slice(0, 24)}`, type: 'message', role: 'assistant', model };
}

function writeBlock(said: Said, index: number, style: MessageStyle): object {
  const text = joinTokens(said);
  if (said.kind === 'text') return { type: 'text', text };
  if (said.kind === 'call') return { ...openBlock(said, index, style), input: parseInput(text) };
  return { type: 'thinking', thinking: style.showsThoughts ? text : '', signature: seal(text, 'messages') };
}

function openBlock(said: Said, index: number, { seed }: MessageStyle): object {
  if (said.kind === 'text') return { type: 'text', text: '' };
  if (said.kind === 'thought') return { type: 'thinking', thinking: '', signature: '' };
  const id = `toolu_${seed.slice(0, 20)}${String(index).padStart(4, '0')}`;
  return { type: 'tool_use', id, name: said.name, input: {} };
}

type Delta = { readonly type: string; readonly [member: string]: string };

function deltasOf(said: Said, { showsThoughts }: MessageStyle): Delta[] {
  const { kind, tokens } = said;
  if (kind === 'text') return tokens.map((text) => ({ type: 'text_delta', text }));
  if (kind === 'call') return ['', ...tokens].map((json) => ({ type: 'input_json_delta', partial_json: json }));
  const thoughts = showsThoughts ? tokens.map((thinking) => ({ type: 'thinking_delta', thinking })) : [];
  return [...thoughts, { type: 'signature_delta', signature: seal(joinTokens(said), 'messages') }];
}

/** The input of a call; one that the limit has cut is empty. */
function parseInput(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function usageOf(answer: Answer, output: number): object {
  return {
    ...countsOf(answer, output),
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    service_tier: 'standard',
  };
}

function countsOf({ usage }: Answer, output: number): object {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: output,
    ...(usage.thoughts > 0 && { output_tokens_details: { thinking_tokens: usage.thoughts } }),
  };
}
