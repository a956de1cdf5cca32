// Writes answers of the demo model as responses: the object, and the items of its output.
import { created } from '../http.ts';
import { type Answer, joinTokens, type Said } from '../model.ts';
import { type Body, isList, isObject } from '../requests.ts';
import { seal } from '../thoughts.ts';

export type Item = { readonly id: string; readonly type: string; readonly [member: string]: unknown };

/** An item of the output, as it is in the end. */
export function writeItem(said: Said, index: number, seed: string, body: Body): Item {
  const ending = `${seed.slice(0, 44)}${String(index).padStart(4, '0')}`;
  const text = joinTokens(said);
  if (said.kind === 'thought') {
    const include = isList(body['include']) ? body['include'] : [];
    return {
      id: `rs_${ending}`,
      type: 'reasoning',
      summary: [{ type: 'summary_text', text }],
      ...(include.includes('reasoning.encrypted_content') && { encrypted_content: seal(text, 'responses') }),
    };
  }
  if (said.kind === 'text') {
    const content = [{ type: 'output_text', annotations: [], logprobs: [], text }];
    return { id: `msg_${ending}`, type: 'message', status: 'completed', content, role: 'assistant' };
  }
  const call = { call_id: `call_${seed.slice(0, 20)}${String(index).padStart(4, '0')}`, name: said.name };
  return said.isFreeText
    ? { id: `ctc_${ending}`, type: 'custom_tool_call', status: 'completed', ...call, input: text }
    : { id: `fc_${ending}`, type: 'function_call', status: 'completed', ...call, arguments: text };
}

/** The whole response; what was asked for is repeated in it. */
export function writeResponse(answer: Answer, seed: string, body: Body): object {
  const items = answer.said.map((said, index) => writeItem(said, index, seed, body));
  const isCut = answer.finish === 'length';
  const last = items.length - 1;
  const output = items.map((item, index) => (isCut && index === last ? { ...item, status: 'incomplete' } : item));
  const { input, output: given, thoughts } = answer.usage;
  return {
    ...describeResponse(answer.model, seed, body),
    status: isCut ? 'incomplete' : 'completed',
    completed_at: isCut ? null : created,
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output,
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: given,
      output_tokens_details: { reasoning_tokens: thoughts },
      total_tokens: input + given,
    },
  };
}

/** The response before anything is said. */
export function describeResponse(model: string, seed: string, body: Body): object {
  const reasoning = isObject(body['reasoning']) ? body['reasoning'] : {};
  const text = isObject(body['text']) ? body['text'] : {};
  return {
    id: `resp_${seed.slice(0, 48)}`,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: body['max_tool_calls'] ?? null,
    model,
    output: [],
    parallel_tool_calls: body['parallel_tool_calls'] !== false,
    previous_response_id: null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    reasoning: { effort: reasoning['effort'] ?? null, summary: reasoning['summary'] ?? null },
    safety_identifier: body['safety_identifier'] ?? null,
    service_tier: 'default',
    // Nothing is kept, whatever was asked for.
    store: false,
    temperature: body['temperature'] ?? 1,
    text: { format: { type: 'text' }, verbosity: 'medium', ...text },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_logprobs: body['top_logprobs'] ?? 0,
    top_p: body['top_p'] ?? 1,
    truncation: body['truncation'] ?? 'disabled',
    usage: null,
    user: body['user'] ?? null,
    metadata: body['metadata'] ?? {},
  };
}
