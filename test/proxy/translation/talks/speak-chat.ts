// Answers of models as servers of chat write them, as a whole and as a stream: thoughts, words and calls, each in a member of its own.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import {
  cut,
  isCall,
  isThought,
  json,
  model,
  type SaidAnswer,
  type SaidCall,
  type Telling,
  textIn,
  woven,
} from './said-answer.ts';

function usageOf({ usage }: SaidAnswer): JsonObject {
  return {
    prompt_tokens: usage.input + usage.cached,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.cached + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached },
  };
}

function reasonOf({ parts, isCut }: SaidAnswer): string {
  return isCut ? 'length' : parts.some(isCall) ? 'tool_calls' : 'stop';
}

function partsText({ parts }: SaidAnswer, kind: 'text' | 'refusal' | 'thought'): string {
  return parts.flatMap((part) => (part.kind === kind ? [part.text] : [])).join('');
}

/** A call with its input, or as it begins. */
function callOf(call: SaidCall, { toolOf }: Telling, isWhole: boolean): JsonObject {
  const { name, isFree } = toolOf(call);
  if (isFree)
    return { id: call.id, type: 'custom', custom: { name, input: isWhole ? textIn(call.input, 'input') : '' } };
  return { id: call.id, type: 'function', function: { name, arguments: isWhole ? json(call.input) : '' } };
}

export function wholeChat(telling: Telling): JsonObject {
  const { said } = telling;
  const message = {
    role: 'assistant',
    content: partsText(said, 'text') || null,
    refusal: partsText(said, 'refusal') || null,
    reasoning_content: said.parts.some(isThought) ? partsText(said, 'thought') : undefined,
    tool_calls: said.parts.filter(isCall).map((call) => callOf(call, telling, true)),
  };
  const choices = [{ index: 0, message, finish_reason: reasonOf(said) }];
  return { id: said.id, object: 'chat.completion', created: 1, model, choices, usage: usageOf(said) };
}

export function streamChat(telling: Telling): Buffer {
  const { said, toolOf, pace } = telling;
  const chunk = (delta: JsonObject, finish_reason: string | null = null): JsonObject => ({
    id: said.id,
    object: 'chat.completion.chunk',
    created: 1,
    model,
    choices: [{ index: 0, delta, finish_reason }],
  });
  const calls = said.parts.filter(isCall).map((call, index) => {
    const { isFree } = toolOf(call);
    const text = isFree ? textIn(call.input, 'input') : json(call.input);
    const pieces = cut(text, pace).map((piece) =>
      isFree ? { custom: { input: piece } } : { function: { arguments: piece } },
    );
    return [{ index, ...callOf(call, telling, false) }, ...pieces.map((piece) => ({ index, ...piece }))];
  });
  const events = [
    chunk({ role: 'assistant', content: '' }),
    ...cut(partsText(said, 'thought'), pace).map((piece) => chunk({ reasoning_content: piece })),
    ...cut(partsText(said, 'text'), pace).map((piece) => chunk({ content: piece })),
    ...cut(partsText(said, 'refusal'), pace).map((piece) => chunk({ refusal: piece })),
    ...woven<JsonObject>(calls, pace).map((call) => chunk({ tool_calls: [call] })),
    chunk({}, reasonOf(said)),
    { ...chunk({}), choices: [], usage: usageOf(said) },
  ];
  return Buffer.from([...events.map((event) => json(event)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''));
}
