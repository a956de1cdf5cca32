// Conversations as bodies of chat, and the last question as one of text completions.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import type { Exchange, Media, Settings, Talk } from './talk.ts';
import {
  answeredCalls,
  base64,
  type ClientBody,
  common,
  freeText,
  isFreeCall,
  mark,
  nameOf,
  pngUrl,
  schema,
  told,
  unless,
  withFreeInputs,
} from './told.ts';

export function askChat(talk: Talk): ClientBody {
  const { settings, tools } = talk;
  const kept: (keyof Settings)[] =
    'topK seed presencePenalty frequencyPenalty logitBias logprobs stop format verbosity metadata'.split(
      ' ',
    ) as never[];
  const said = [
    ...talk.system.map((content, at) => ({ role: at === 0 ? 'system' : 'developer', content })),
    ...talk.exchanges.flatMap((each) => chatExchange(talk, each)),
  ];
  const chosen = { name: nameOf(talk, 0) };
  const named = tools[0]?.isFree === true ? { type: 'custom', custom: chosen } : { type: 'function', function: chosen };
  const choice = settings.choice === 'tool' ? named : settings.choice;
  const body = {
    model: 'm',
    messages: [
      ...said,
      {
        role: 'user',
        content: talk.isMarked ? [{ type: 'text', text: talk.question, cache_control: mark }] : talk.question,
      },
      ...(talk.begun === undefined ? [] : [{ role: 'assistant', content: talk.begun }]),
    ],
    ...unless(tools.length === 0, {
      tools: tools.map(({ name, description, schema: parameters, isFree }) =>
        isFree
          ? { type: 'custom', custom: { name, description } }
          : { type: 'function', function: { name, description, parameters } },
      ),
      tool_choice: choice,
      parallel_tool_calls: settings.parallel,
    }),
    temperature: settings.temperature,
    top_p: settings.topP,
    top_k: settings.topK,
    seed: settings.seed,
    presence_penalty: settings.presencePenalty,
    frequency_penalty: settings.frequencyPenalty,
    logit_bias: settings.logitBias,
    logprobs: settings.logprobs,
    stop: settings.stop,
    max_tokens: settings.maxTokens,
    reasoning_effort: settings.effort,
    response_format: chatFormat(settings.format),
    verbosity: settings.verbosity,
    user: settings.user,
    metadata: settings.metadata,
    service_tier: settings.tier,
    a_member_of_its_own: settings.own,
    stream: talk.stream,
    ...unless(!talk.stream, { stream_options: { include_usage: true } }),
  };
  return { body, told: told(withFreeInputs(talk), [...common, ...kept]) };
}

function chatFormat(format: Settings['format']): JsonObject | undefined {
  if (format === undefined) return undefined;
  if (format === 'schema') return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
  return { type: format === 'json' ? 'json_object' : 'text' };
}

function chatExchange(talk: Talk, exchange: Exchange): readonly JsonObject[] {
  const { asked, media, thought, answered, calls, remark, instructed } = exchange;
  const content = [...asked.map((text) => ({ type: 'text', text })), ...media.map(chatMedia)];
  const thoughts = thought && {
    reasoning_content: thought.text,
    extra_content: {
      anthropic: { thinking_blocks: [{ type: 'thinking', thinking: thought.text, signature: thought.proof }] },
    },
  };
  const tool_calls = calls.map((call) => {
    const name = nameOf(talk, call.tool);
    if (isFreeCall(talk, call)) return { id: call.id, type: 'custom', custom: { name, input: freeText(call) } };
    return { id: call.id, type: 'function', function: { name, arguments: JSON.stringify(call.input) } };
  });
  return [
    { role: 'user', content },
    {
      role: 'assistant',
      content: answered === '' && calls.length > 0 ? null : answered,
      ...thoughts,
      ...unless(calls.length === 0, { tool_calls }),
    },
    ...answeredCalls(exchange).map(({ id, result, shown }) => ({
      role: 'tool',
      tool_call_id: id,
      content:
        shown === undefined
          ? result
          : [
              { type: 'text', text: result },
              { type: 'image_url', image_url: { url: pngUrl(shown) } },
            ],
    })),
    ...(calls.length === 0 || remark === undefined ? [] : [{ role: 'user', content: remark }]),
    ...(instructed === undefined ? [] : [{ role: 'system', content: instructed }]),
  ];
}

function chatMedia({ kind, how, mark: bytes }: Media): JsonObject {
  if (kind === 'sound') return { type: 'input_audio', input_audio: { data: base64(bytes), format: 'wav' } };
  if (kind === 'image')
    return { type: 'image_url', image_url: { url: how === 'url' ? `https://a.example/${bytes}.png` : pngUrl(bytes) } };
  if (how === 'id') return { type: 'file', file: { file_id: bytes } };
  const type = how === 'text' ? 'text/plain' : 'application/pdf';
  return { type: 'file', file: { filename: 'a.pdf', file_data: `data:${type};base64,${base64(bytes)}` } };
}

/** A prompt, and nothing else of the conversation. */
export function askCompletions(talk: Talk): ClientBody {
  const { settings } = talk;
  const body = {
    model: 'm',
    prompt: talk.question,
    temperature: settings.temperature,
    top_p: settings.topP,
    seed: settings.seed,
    presence_penalty: settings.presencePenalty,
    frequency_penalty: settings.frequencyPenalty,
    stop: settings.stop,
    max_tokens: settings.maxTokens,
    user: settings.user,
    a_member_of_its_own: settings.own,
    stream: talk.stream,
    ...unless(!talk.stream, { stream_options: { include_usage: true } }),
  };
  const bare: Talk = { ...talk, begun: undefined, system: [], exchanges: [], tools: [], isMarked: false };
  const kept = [
    'temperature',
    'topP',
    'seed',
    'presencePenalty',
    'frequencyPenalty',
    'stop',
    'maxTokens',
    'user',
    'own',
  ] as const;
  return { body, told: told(bare, [...kept]) };
}
