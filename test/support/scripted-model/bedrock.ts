// A strict server of Amazon Bedrock's Converse and ConverseStream, with a model of Anthropic.
import { converseFrame } from '../aws-frames.ts';
import { readBedrock } from './read-bedrock.ts';
import type { Saying } from './scenarios.ts';
import { sign } from './signatures.ts';
import { deltasOf, type Said, type Wire } from './wire.ts';

export const bedrockWire: Wire = {
  name: 'bedrock',
  model: 'anthropic.claude-opus-4-5-20251101-v1:0',
  streamType: 'application/vnd.amazon.eventstream',
  read: readBedrock,
  answer: (said) => ({
    output: { message: { role: 'assistant', content: blocksOf(said).map(({ block }) => block) } },
    stopReason: stopOf(said.saying),
    usage: usageOf(said.saying),
    metrics: { latencyMs: 12 },
  }),
  stream(said) {
    const { saying } = said;
    const blocks = blocksOf(said).flatMap(({ start, deltas }, contentBlockIndex) => [
      ...(start === undefined ? [] : [converseFrame('contentBlockStart', { contentBlockIndex, start })]),
      ...deltas.map((delta) => converseFrame('contentBlockDelta', { contentBlockIndex, delta })),
      converseFrame('contentBlockStop', { contentBlockIndex }),
    ]);
    return [
      converseFrame('messageStart', { role: 'assistant', p: 'abcdef' }),
      ...blocks,
      converseFrame('messageStop', { stopReason: stopOf(saying) }),
      converseFrame('metadata', { usage: usageOf(saying), metrics: { latencyMs: 12 } }),
    ];
  },
  failure: (message) => converseFrame('modelStreamErrorException', { message }),
  error: (_, message) => ({ message }),
};

interface Block {
  readonly block: object;
  readonly start: object | undefined;
  readonly deltas: readonly object[];
}

function blocksOf({ saying: { thought, text, calls }, number }: Said): readonly Block[] {
  const blocks: Block[] = [];
  if (thought !== '') {
    const signature = sign('claude', thought);
    const pieces = [...deltasOf(thought).map((piece) => ({ text: piece })), { signature }];
    const deltas = pieces.map((reasoningContent) => ({ reasoningContent }));
    const reasoningText = { text: thought, signature };
    blocks.push({ block: { reasoningContent: { reasoningText } }, start: undefined, deltas });
  }
  if (text !== '') {
    const deltas = deltasOf(text).map((piece) => ({ text: piece }));
    blocks.push({ block: { text }, start: undefined, deltas });
  }
  for (const [index, { name, input }] of calls.entries()) {
    const call = { toolUseId: `tooluse_${number}x${index}`, name };
    const deltas = deltasOf(JSON.stringify(input), 5).map((piece) => ({ toolUse: { input: piece } }));
    blocks.push({ block: { toolUse: { ...call, input } }, start: { toolUse: call }, deltas });
  }
  return blocks;
}

function usageOf({ usage: { input, cached, output } }: Saying): object {
  return {
    inputTokens: input - cached,
    outputTokens: output,
    totalTokens: input + output,
    cacheReadInputTokens: cached,
    cacheWriteInputTokens: 0,
  };
}

function stopOf({ calls }: Saying): string {
  return calls.length === 0 ? 'end_turn' : 'tool_use';
}
