// Writes answers of the demo model as chat completions: at once, or as the chunks of a stream.
import { created, type Streamed } from '../http.ts';
import { type Answer, joinTokens, type Said } from '../model.ts';
import type { Refusal } from '../requests.ts';

const finishReasons = { stop: 'stop', stop_sequence: 'stop', length: 'length', calls: 'tool_calls' } as const;

/** The answer as one object; `seed` is what its ids are made of. */
export function writeChat(answer: Answer, seed: string): object {
  const { said, model } = answer;
  const texts = said.filter(({ kind }) => kind === 'text').map(joinTokens);
  const thoughts = said.filter(({ kind }) => kind === 'thought').map(joinTokens);
  const calls = callsOf(said);
  const message = {
    role: 'assistant',
    content: calls.length > 0 ? null : texts.join(''),
    refusal: null,
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join('') }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call, index) => ({ id: callId(seed, index), ...describeCall(call, joinTokens(call)) })),
    }),
  };
  return {
    id: completionId(seed),
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReasons[answer.finish] }],
    usage: usageOf(answer),
    system_fingerprint: 'fp_demo',
  };
}

/** The answer as chunks. With `wantsUsage` the last one has the usage, and every other `usage: null`, as the API does it. */
export function* streamChat(answer: Answer, seed: string, wantsUsage: boolean): Generator<Streamed> {
  const { model, said } = answer;
  const frame = {
    id: completionId(seed),
    object: 'chat.completion.chunk',
    created,
    model,
    system_fingerprint: 'fp_demo',
  };
  const chunk = (delta: object, finish: string | null = null): object => ({
    ...frame,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(wantsUsage && { usage: null }),
  });
  const calls = callsOf(said);
  yield { data: chunk({ role: 'assistant', content: calls.length > 0 ? null : '', refusal: null }) };
  for (const part of said) {
    if (part.kind === 'call') {
      yield* streamCall(part, calls.indexOf(part), seed, chunk);
    } else {
      const member = part.kind === 'text' ? 'content' : 'reasoning_content';
      for (const token of part.tokens) yield { data: chunk({ [member]: token }), isToken: true };
    }
  }
  yield { data: chunk({}, finishReasons[answer.finish]) };
  if (wantsUsage) yield { data: { ...frame, choices: [], usage: usageOf(answer) } };
}

type Call = Said & { readonly kind: 'call' };

function* streamCall(call: Call, index: number, seed: string, chunk: (delta: object) => object): Generator<Streamed> {
  yield { data: chunk({ tool_calls: [{ index, id: callId(seed, index), ...describeCall(call, '') }] }) };
  for (const token of call.tokens) {
    const piece = call.isFreeText ? { custom: { input: token } } : { function: { arguments: token } };
    yield { data: chunk({ tool_calls: [{ index, ...piece }] }), isToken: true };
  }
}

function describeCall({ name, isFreeText }: Call, input: string): object {
  return isFreeText
    ? { type: 'custom', custom: { name, input } }
    : { type: 'function', function: { name, arguments: input } };
}

function callsOf(said: readonly Said[]): Call[] {
  return said.filter((part) => part.kind === 'call');
}

function completionId(seed: string): string {
  return `chatcmpl-${seed.slice(0, 29)}`;
}

function callId(seed: string, index: number): string {
  return `call_${seed.slice(0, 20)}${String(index).padStart(4, '0')}`;
}

function usageOf({ usage: { input, output, thoughts } }: Answer): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: thoughts,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** An error as chat completions, responses and everything else of OpenAI has it. */
export function writeOpenAiError({ status, message, param, code }: Refusal): object {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error';
  return { error: { message, type, param, code } };
}
