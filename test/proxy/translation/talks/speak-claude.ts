// Answers of models as Anthropic and Bedrock write them, as a whole and as a stream.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { converseFrame } from '../../../support/aws-frames.ts';
import { cut, isCall, json, model, namedEvents, type SaidAnswer, type Telling, woven } from './said-answer.ts';

function usageOf({ usage }: SaidAnswer): JsonObject {
  return { input_tokens: usage.input, cache_read_input_tokens: usage.cached, output_tokens: usage.output };
}

function reasonOf({ parts, isCut }: SaidAnswer): string {
  return isCut ? 'max_tokens' : parts.some(isCall) ? 'tool_use' : 'end_turn';
}

/** A block as a whole, as it begins, and what is added to it. */
interface Block {
  readonly whole: JsonObject;
  readonly begun: JsonObject;
  readonly deltas: readonly JsonObject[];
}

function blocksOf({ said, toolOf, pace }: Telling): readonly Block[] {
  return said.parts.map((part, at): Block => {
    if (part.kind === 'call') {
      const begun = { type: 'tool_use', id: part.id ?? `toolu_${said.id}_${at}`, name: toolOf(part).name, input: {} };
      const deltas = cut(json(part.input), pace).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
      return { whole: { ...begun, input: part.input }, begun, deltas };
    }
    if (part.kind === 'thought') {
      const deltas = cut(part.text, pace).map((thinking): JsonObject => ({ type: 'thinking_delta', thinking }));
      return {
        whole: { type: 'thinking', thinking: part.text, signature: part.proof },
        begun: { type: 'thinking', thinking: '', signature: '' },
        deltas: [...deltas, { type: 'signature_delta', signature: part.proof }],
      };
    }
    const deltas = cut(part.text, pace).map((text) => ({ type: 'text_delta', text }));
    return { whole: { type: 'text', text: part.text }, begun: { type: 'text', text: '' }, deltas };
  });
}

export function wholeMessages(telling: Telling): JsonObject {
  const { said } = telling;
  const content = blocksOf(telling).map(({ whole }) => whole);
  const ended = { stop_reason: reasonOf(said), stop_sequence: null, usage: usageOf(said) };
  return { id: `msg_${said.id}`, type: 'message', role: 'assistant', model, content, ...ended };
}

export function streamMessages(telling: Telling): Buffer {
  const { said, pace } = telling;
  const told = blocksOf(telling).map(({ begun, deltas }, index): readonly JsonObject[] => [
    { type: 'content_block_start', index, content_block: begun },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]);
  const { output_tokens, ...before } = usageOf(said);
  const usage = { ...before, output_tokens: 1 };
  return namedEvents([
    {
      type: 'message_start',
      message: { id: `msg_${said.id}`, type: 'message', role: 'assistant', model, content: [], usage },
    },
    ...woven(told, pace),
    { type: 'message_delta', delta: { stop_reason: reasonOf(said) }, usage: { output_tokens } },
    { type: 'message_stop' },
  ]);
}

function bedrockUsage({ usage }: SaidAnswer): JsonObject {
  return { inputTokens: usage.input, cacheReadInputTokens: usage.cached, outputTokens: usage.output };
}

function bedrockBlocks({ said, toolOf, pace }: Telling): readonly Block[] {
  return said.parts.map((part, at): Block => {
    if (part.kind === 'call') {
      const start = { toolUseId: part.id ?? `tooluse_${said.id}_${at}`, name: toolOf(part).name };
      const deltas = cut(json(part.input), pace).map((piece) => ({ toolUse: { input: piece } }));
      return { whole: { toolUse: { ...start, input: part.input } }, begun: { toolUse: start }, deltas };
    }
    if (part.kind === 'thought') {
      const deltas = [
        ...cut(part.text, pace).map((text) => ({ text })),
        ...cut(part.proof, pace).map((signature) => ({ signature })),
      ];
      return {
        whole: { reasoningContent: { reasoningText: { text: part.text, signature: part.proof } } },
        begun: {},
        deltas: deltas.map((reasoningContent) => ({ reasoningContent })),
      };
    }
    return { whole: { text: part.text }, begun: {}, deltas: cut(part.text, pace).map((text) => ({ text })) };
  });
}

export function wholeBedrock(telling: Telling): JsonObject {
  const { said } = telling;
  const content = bedrockBlocks(telling).map(({ whole }) => whole);
  return { output: { message: { role: 'assistant', content } }, stopReason: reasonOf(said), usage: bedrockUsage(said) };
}

/** Only calls have an event that begins them. */
export function streamBedrock(telling: Telling): Buffer {
  const { said } = telling;
  const told = bedrockBlocks(telling).flatMap(({ begun, deltas }, contentBlockIndex) => [
    ...('toolUse' in begun ? [converseFrame('contentBlockStart', { contentBlockIndex, start: begun })] : []),
    ...deltas.map((delta) => converseFrame('contentBlockDelta', { contentBlockIndex, delta })),
    converseFrame('contentBlockStop', { contentBlockIndex }),
  ]);
  return Buffer.concat([
    converseFrame('messageStart', { role: 'assistant' }),
    ...told,
    converseFrame('messageStop', { stopReason: reasonOf(said) }),
    converseFrame('metadata', { usage: bedrockUsage(said) }),
  ]);
}
