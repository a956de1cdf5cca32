// The usage object of each provider, as it is sent, becomes the same counts whether its bytes or its JSON are read; cut answers are partial.
import { test } from 'tap';
import { priceOf } from '../../../domain/prices/price.ts';
import { readUsage as readBedrock } from '../../../proxy/dialects/bedrock/read-usage.ts';
import type { ConversationUsage } from '../../../proxy/dialects/conversation/conversation.ts';
import { readUsage as readGemini } from '../../../proxy/dialects/gemini/read-usage.ts';
import type { JsonObject } from '../../../proxy/dialects/json/json.ts';
import { readUsage as readMessages } from '../../../proxy/dialects/messages/read/read-usage.ts';
import { usageOfEvent } from '../../../proxy/realtime/event-usage.ts';
import { UnfinishedResponses } from '../../../proxy/realtime/unfinished-responses.ts';
import { costOfUsage } from '../../../proxy/tokens/attempt-usage.ts';
import { findUsage } from '../../../proxy/tokens/find-usage.ts';
import { sumUsage } from '../../../proxy/tokens/sum-usage.ts';
import { ofBrokenAnswer, type TokenUsage, tokenUsageOf } from '../../../proxy/tokens/token-usage.ts';
import { TranslatedUsage } from '../../../proxy/translation/translated-usage.ts';

type Row = readonly [
  provider: string,
  usage: JsonObject,
  counts: readonly [input: number, output: number, total: number],
  parts: Partial<TokenUsage>,
];

const rows: readonly Row[] = [
  [
    'OpenAI chat',
    {
      prompt_tokens: 1400,
      completion_tokens: 320,
      total_tokens: 1720,
      prompt_tokens_details: { cached_tokens: 1024, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 128,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
    [1400, 320, 1720],
    { cachedInputTokens: 1024, audioInputTokens: 0, reasoningTokens: 128, audioOutputTokens: 0 },
  ],
  [
    'OpenAI audio',
    {
      prompt_tokens: 60,
      completion_tokens: 90,
      total_tokens: 150,
      prompt_tokens_details: { audio_tokens: 41, text_tokens: 19, cached_tokens: null },
      completion_tokens_details: { audio_tokens: 70, text_tokens: 20 },
    },
    [60, 90, 150],
    { audioInputTokens: 41, audioOutputTokens: 70 },
  ],
  [
    'OpenAI Responses',
    {
      input_tokens: 75,
      input_tokens_details: { cached_tokens: 32, cache_write_tokens: 8 },
      output_tokens: 1186,
      output_tokens_details: { reasoning_tokens: 1024 },
      total_tokens: 1261,
    },
    [75, 1186, 1261],
    { cachedInputTokens: 32, cacheWriteTokens: 8, reasoningTokens: 1024 },
  ],
  [
    'OpenAI transcription by tokens',
    {
      type: 'tokens',
      input_tokens: 14,
      input_token_details: { text_tokens: 4, audio_tokens: 10 },
      output_tokens: 45,
      total_tokens: 59,
    },
    [14, 45, 59],
    { audioInputTokens: 10 },
  ],
  ['OpenAI transcription by duration', { type: 'duration', seconds: 27 }, [0, 0, 0], { audioSeconds: 27 }],
  ['by a fraction of a second', { type: 'duration', seconds: 0.25 }, [0, 0, 0], { audioSeconds: 0.25 }],
  [
    'Anthropic',
    {
      input_tokens: 5,
      cache_creation_input_tokens: 300,
      cache_read_input_tokens: 2000,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      output_tokens: 90,
      output_tokens_details: { thinking_tokens: 40 },
      service_tier: 'standard',
    },
    [2305, 90, 2395],
    { cachedInputTokens: 2000, cacheWriteTokens: 300, hourCacheWriteTokens: 200, reasoningTokens: 40 },
  ],
  [
    'DeepSeek',
    {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_cache_hit_tokens: 64,
      prompt_cache_miss_tokens: 36,
      completion_tokens_details: { reasoning_tokens: 20 },
    },
    [100, 50, 150],
    { cachedInputTokens: 64, reasoningTokens: 20 },
  ],
  [
    'Moonshot',
    { prompt_tokens: 19, completion_tokens: 21, total_tokens: 40, cached_tokens: 19 },
    [19, 21, 40],
    { cachedInputTokens: 19 },
  ],
  [
    'xAI, whose thoughts stand beside the output',
    {
      prompt_tokens: 32,
      completion_tokens: 9,
      total_tokens: 135,
      prompt_tokens_details: { text_tokens: 32, audio_tokens: 0, image_tokens: 0, cached_tokens: 6 },
      completion_tokens_details: { reasoning_tokens: 94, audio_tokens: 0 },
      num_sources_used: 0,
    },
    [32, 103, 135],
    { cachedInputTokens: 6, audioInputTokens: 0, reasoningTokens: 94, audioOutputTokens: 0 },
  ],
  [
    'Groq',
    { queue_time: 0.018, prompt_tokens: 14, prompt_time: 0.0002, completion_tokens: 7, total_tokens: 21 },
    [14, 7, 21],
    {},
  ],
  [
    'OpenRouter',
    {
      prompt_tokens: 194,
      completion_tokens: 2,
      total_tokens: 196,
      cost: 0.95,
      cost_details: { upstream_inference_cost: 19 },
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 100, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
    [194, 2, 196],
    { cachedInputTokens: 0, cacheWriteTokens: 100, audioInputTokens: 0, reasoningTokens: 0 },
  ],
  ['embeddings', { prompt_tokens: 8, total_tokens: 8 }, [8, 0, 8], {}],
  [
    'parts larger than their whole, or absurd',
    {
      prompt_tokens: 10,
      completion_tokens: 4,
      total_tokens: 14,
      prompt_tokens_details: { cached_tokens: 11, audio_tokens: 10, cache_write_tokens: -1 },
      completion_tokens_details: { reasoning_tokens: 5, audio_tokens: 0.5 },
    },
    [10, 4, 14],
    { audioInputTokens: 10 },
  ],
  [
    'cached and written together larger than the input',
    { prompt_tokens: 10, total_tokens: 10, prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 5 } },
    [10, 0, 10],
    { cachedInputTokens: 6 },
  ],
];

const usageOf = ([inputTokens, outputTokens, totalTokens]: Row[2], parts: Partial<TokenUsage>): TokenUsage => ({
  inputTokens,
  outputTokens,
  totalTokens,
  source: 'reported',
  ...parts,
});

await test('the usage of every provider is read with its parts', (t) => {
  for (const [provider, usage, counts, parts] of rows) {
    const expected = usageOf(counts, parts);
    t.strictSame(tokenUsageOf(usage), expected, provider);
    for (const indent of [undefined, 2]) {
      const body = Buffer.from(JSON.stringify({ id: 'a', usage, choices: [] }, null, indent));
      t.strictSame(findUsage(body), expected, `${provider}, as bytes`);
    }
  }
  t.end();
});

await test('so are those of providers whose answers are translated', (t) => {
  const translated = (usage: ConversationUsage | undefined): TokenUsage | undefined => {
    const told = new TranslatedUsage({ operation: 'chat', call: { body: Buffer.from('{}') } });
    if (usage !== undefined) told.note({ kind: 'usage', usage });
    told.note({ kind: 'finished', finish: { reason: 'stop' } });
    return told.usage();
  };
  const gemini = readGemini({
    promptTokenCount: 300,
    cachedContentTokenCount: 200,
    candidatesTokenCount: 40,
    thoughtsTokenCount: 60,
    totalTokenCount: 400,
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 50 },
      { modality: 'AUDIO', tokenCount: 250 },
    ],
    cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 180 }],
  });
  const spoken = { cachedInputTokens: 200, audioInputTokens: 250, cachedAudioTokens: 180, reasoningTokens: 60 };
  t.strictSame(translated(gemini), usageOf([300, 100, 400], spoken), 'Gemini');
  const bedrock = readBedrock({
    inputTokens: 10,
    outputTokens: 5,
    totalTokens: 115,
    cacheReadInputTokens: 80,
    cacheWriteInputTokens: 20,
  });
  t.strictSame(translated(bedrock), usageOf([110, 5, 115], { cachedInputTokens: 80, cacheWriteTokens: 20 }), 'Bedrock');
  const anthropic = rows.find(([provider]) => provider === 'Anthropic');
  t.strictSame(translated(readMessages(anthropic?.[1])), usageOf(anthropic?.[2] ?? [0, 0, 0], anthropic?.[3] ?? {}));
  t.end();
});

await test('a session adds up its responses and transcripts', (t) => {
  const done = {
    type: 'response.done',
    response: {
      usage: {
        total_tokens: 253,
        input_tokens: 132,
        output_tokens: 121,
        input_token_details: {
          text_tokens: 119,
          audio_tokens: 13,
          cached_tokens: 64,
          cached_tokens_details: { text_tokens: 60, audio_tokens: 4 },
        },
        output_token_details: { text_tokens: 30, audio_tokens: 91 },
      },
    },
  };
  const spoken = { cachedInputTokens: 64, audioInputTokens: 13, cachedAudioTokens: 4, audioOutputTokens: 91 };
  const read = (event: object, isTranscribing = false) =>
    usageOfEvent(Buffer.from(JSON.stringify(event)), isTranscribing);
  const response = read(done);
  t.strictSame(response, usageOf([132, 121, 253], spoken));
  const type = 'conversation.item.input_audio_transcription.completed';
  const timed = { type, transcript: 'hello', usage: { type: 'duration', seconds: 3 } };
  t.strictSame(read(timed, true), usageOf([0, 0, 0], { audioSeconds: 3 }));
  const transcript = read(timed);
  if (response === undefined || transcript === undefined) throw new Error('neither was read');
  const both = sumUsage(sumUsage(sumUsage(undefined, response), transcript), response);
  t.strictSame(both, {
    ...usageOf([264, 242, 506], {}),
    cachedInputTokens: 128,
    audioInputTokens: 26,
    cachedAudioTokens: 8,
    audioOutputTokens: 182,
    audioSeconds: 3,
    isOfOtherModel: true,
  });
  const price = priceOf({
    input_per_mtok: 1,
    output_per_mtok: 2,
    long_context: { above_tokens: 200, input_per_mtok: 9, output_per_mtok: 9 },
  });
  const priced = [response, transcript, response].map((each) => ({ ...each, cost: costOfUsage(each, price) }));
  const session = priced.reduce<TokenUsage | undefined>((sum, each) => sumUsage(sum, each), undefined);
  t.strictSame(session?.cost, { input: 264_000, output: 484_000, total: 748_000 }, 'each by itself, if it has a price');
  t.equal(sumUsage(priced[1], priced[1] as TokenUsage).cost, null);
  t.equal(read({ type: 'response.created', response: done.response, about: 'response.done' }), undefined);
  t.end();
});

await test('responses of a session that are not over have used what came of them', (t) => {
  const responses = new UnfinishedResponses();
  const see = (type: string, more: object): void => responses.see(Buffer.from(JSON.stringify({ type, ...more })));
  const [one, other] = [{ response: { id: 'resp_1' } }, { response: { id: 'resp_2' } }];
  const of = (id: string, delta: string) => ({ response_id: id, delta });
  see('response.output_text.delta', of('resp_1', 'before any'));
  t.equal(responses.usage(), undefined);
  see('response.created', one);
  see('response.created', other);
  see('response.done', other);
  see('response.output_audio_transcript.delta', of('resp_1', 'x'.repeat(400)));
  see('response.output_audio.delta', of('resp_1', 'A'.repeat(32_512)));
  see('session.updated', { about: '"type":"response.done"' });
  const wanted = { inputTokens: 0, outputTokens: 111, totalTokens: 111, source: 'partial', audioOutputTokens: 11 };
  t.strictSame(responses.usage(), wanted);
  see('response.done', one);
  t.equal(responses.usage(), undefined);
  t.end();
});

await test('what a broken answer did not report is partial', (t) => {
  const usage = usageOf([3, 4, 7], { reasoningTokens: 2 });
  t.equal(ofBrokenAnswer(usage), usage, 'a report stays one');
  const estimated: TokenUsage = { ...usage, source: 'estimated' };
  t.strictSame(ofBrokenAnswer(estimated), { ...estimated, source: 'partial' });
  t.end();
});
