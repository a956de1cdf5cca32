// Conversations as bodies of Anthropic's Messages.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import type { Exchange, Media, Talk } from './talk.ts';
import { answeredCalls, base64, type ClientBody, mark, nameOf, schema, told, unless } from './told.ts';

export function askMessages(talk: Talk): ClientBody {
  const { settings, tools } = talk;
  const choices: Readonly<Record<string, string>> = { auto: 'auto', none: 'none', required: 'any' };
  const block = (text: string): JsonObject => ({
    type: 'text',
    text,
    ...unless(!talk.isMarked, { cache_control: mark }),
  });
  const format = settings.format === 'schema' ? { format: { type: 'json_schema', schema } } : {};
  const efforts = ['low', 'medium', 'high', 'xhigh'];
  const effort = settings.effort !== undefined && efforts.includes(settings.effort) ? { effort: settings.effort } : {};
  const config = { ...format, ...effort };
  const body = {
    model: 'm',
    max_tokens: settings.maxTokens ?? 4096,
    ...unless(talk.system.length === 0, { system: talk.system.map(block) }),
    messages: [
      ...talk.exchanges.flatMap((each) => messagesExchange(talk, each)),
      { role: 'user', content: [block(talk.question)] },
      ...(talk.begun === undefined ? [] : [{ role: 'assistant', content: talk.begun }]),
    ],
    ...unless(tools.length === 0, {
      tools: tools.map(({ name, description, schema: input_schema }) => ({ name, description, input_schema })),
      ...unless(settings.choice === undefined, {
        tool_choice: {
          type: settings.choice && (choices[settings.choice] ?? 'tool'),
          ...unless(settings.choice !== 'tool', { name: nameOf(talk, 0) }),
          ...unless(settings.parallel === undefined || settings.choice === 'none', {
            disable_parallel_tool_use: settings.parallel === false,
          }),
        },
      }),
    }),
    temperature: settings.temperature,
    top_p: settings.topP,
    top_k: settings.topK,
    stop_sequences: settings.stop,
    ...unless(settings.budget === undefined, { thinking: { type: 'enabled', budget_tokens: settings.budget } }),
    ...unless(Object.keys(config).length === 0, { output_config: config }),
    ...unless(settings.user === undefined, { metadata: { user_id: settings.user } }),
    service_tier: settings.tier,
    a_member_of_its_own: settings.own,
    stream: talk.stream,
  };
  const sayable = [
    'temperature',
    'topP',
    'topK',
    'stop',
    'budget',
    'choice',
    'user',
    'tier',
    'own',
    'maxTokens',
  ] as const;
  const parallel = settings.choice === undefined || settings.choice === 'none' ? undefined : settings.parallel;
  const change = {
    parallel,
    format: settings.format === 'schema' ? 'schema' : undefined,
    effort: effort.effort,
  } as const;
  const said = told(talk, [...sayable]);
  const hasErrors = talk.exchanges.some(({ calls }) => calls.some(({ isError }) => isError));
  return { body, told: { ...said, settings: { ...said.settings, ...change }, hasErrors } };
}

function messagesExchange(talk: Talk, exchange: Exchange): readonly JsonObject[] {
  const { asked, media, thought, answered, calls, remark, instructed } = exchange;
  const content = [...asked.map((text) => ({ type: 'text', text })), ...media.map(messagesMedia)];
  const results = answeredCalls(exchange).map(({ id, result, shown, isError }) => ({
    type: 'tool_result',
    tool_use_id: id,
    content:
      shown === undefined
        ? result
        : [
            { type: 'text', text: result },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64(shown) } },
          ],
    ...unless(!isError, { is_error: true }),
  }));
  const answer = [
    ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought.text, signature: thought.proof }]),
    ...(answered === '' ? [] : [{ type: 'text', text: answered }]),
    ...calls.map(({ id, tool, input }) => ({ type: 'tool_use', id, name: nameOf(talk, tool), input })),
  ];
  return [
    { role: 'user', content },
    ...(answer.length === 0 ? [] : [{ role: 'assistant', content: answer }]),
    ...(results.length === 0
      ? []
      : [{ role: 'user', content: remark === undefined ? results : [{ type: 'text', text: remark }, ...results] }]),
    ...(instructed === undefined ? [] : [{ role: 'system', content: instructed }]),
  ];
}

function messagesMedia({ kind, how, mark: bytes }: Media): JsonObject {
  const type = kind === 'image' ? 'image' : 'document';
  const media_type = kind === 'image' ? 'image/png' : 'application/pdf';
  if (how === 'url') return { type, source: { type: 'url', url: `https://a.example/${bytes}.png` } };
  if (how === 'id') return { type, source: { type: 'file', file_id: bytes } };
  if (how === 'text' && kind !== 'image')
    return { type, source: { type: 'text', media_type: 'text/plain', data: bytes }, title: 'a' };
  return { type, source: { type: 'base64', media_type, data: base64(bytes) } };
}
