// A vendor filters content: the client is told, or, where the alias says so, another provider is asked.
import type { Act, Scenario, WireName } from '../scenario.ts';

const azure = {
  error: {
    message:
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
    type: null,
    param: 'prompt',
    code: 'content_filter',
    status: 400,
    innererror: {
      code: 'ResponsibleAIPolicyViolation',
      content_filter_result: { violence: { filtered: true, severity: 'medium' } },
    },
  },
};

const chatFilter: Act = {
  own: {
    whole: {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'content_filter' }],
      usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 },
    },
    events: [chatChunk({ role: 'assistant', content: '' }, null), chatChunk({}, 'content_filter')],
  },
};

function chatChunk(delta: object, finish_reason: string | null): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  };
}

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [],
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 0 },
};
const refusal: Act = {
  own: {
    whole: { ...message, stop_reason: 'refusal' },
    events: [
      { type: 'message_start', message: { ...message, stop_reason: null } },
      { type: 'message_delta', delta: { stop_reason: 'refusal', stop_sequence: null }, usage: { output_tokens: 0 } },
      { type: 'message_stop' },
    ],
  },
};

const blockedPrompt = {
  promptFeedback: { blockReason: 'SAFETY', safetyRatings: [] },
  usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
  modelVersion: 'm',
};
const blockedAnswer = {
  candidates: [{ finishReason: 'SAFETY', index: 0, safetyRatings: [] }],
  usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
  modelVersion: 'm',
};
const google = (whole: object): Act => ({ own: { whole, events: [whole] } });

/** Each way to filter, told to the client by default, and rescued where the alias says so. */
const ways: readonly (readonly [name: string, wire: WireName, act: Act])[] = [
  ['Azure’s 400 with `innererror`', 'chat', { status: 400, says: azure }],
  ['the finish reason `content_filter`', 'chat', chatFilter],
  ['Anthropic’s `refusal`', 'messages', refusal],
  ['Google’s blocked prompt', 'gemini', google(blockedPrompt)],
  ['Google’s finish reason `SAFETY`', 'gemini', google(blockedAnswer)],
];

export const filters: readonly Scenario[] = ways.flatMap(([name, wire, act]): Scenario[] => [
  {
    name: `content filter: ${name}`,
    wire,
    plans: [act, 'answers'],
    sees: typeof act === 'object' && 'status' in act ? { status: 400, code: 'content_filter' } : { finish: 'filtered' },
    calls: [1, 0],
  },
  {
    name: `content filter: ${name} (\`retry.on\` has it)`,
    wire,
    plans: [act, 'answers'],
    sees: 'answer',
    alias: { retry: { on: ['content_filter'] } },
    ...(wire === 'chat' && 'status' in (act as object) ? { isPublished: true } : {}),
  },
]);
