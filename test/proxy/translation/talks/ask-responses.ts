// Conversations as bodies of the Responses format.
import type { JsonObject, JsonValue } from '../../../../proxy/dialects/json/json.ts';
import type { Exchange, Media, Settings, Talk } from './talk.ts';
import {
  answeredCalls,
  base64,
  type ClientBody,
  common,
  freeText,
  isFreeCall,
  nameOf,
  pngUrl,
  schema,
  told,
  unless,
  withFreeInputs,
} from './told.ts';

export function askResponses(talk: Talk): ClientBody {
  const { settings, tools } = talk;
  const [instructions, ...others] = talk.system;
  const choice =
    settings.choice === 'tool'
      ? { type: tools[0]?.isFree === true ? 'custom' : 'function', name: nameOf(talk, 0) }
      : settings.choice;
  const input = [
    ...others.map((content) => ({ role: 'developer', content })),
    ...talk.exchanges.flatMap((each) => responsesExchange(talk, each)),
    { role: 'user', content: [{ type: 'input_text', text: talk.question }] },
    ...(talk.begun === undefined ? [] : [{ role: 'assistant', content: talk.begun }]),
  ];
  const body = {
    model: 'm',
    instructions,
    input,
    ...unless(tools.length === 0, {
      tools: tools.map(({ name, description, schema: parameters, isFree }) =>
        isFree
          ? { type: 'custom', name, description }
          : { type: 'function', name, description, parameters, strict: false },
      ),
      tool_choice: choice,
      parallel_tool_calls: settings.parallel,
    }),
    temperature: settings.temperature,
    top_p: settings.topP,
    max_output_tokens: settings.maxTokens,
    reasoning: settings.effort === undefined ? undefined : { effort: settings.effort },
    text: responsesText(settings),
    include: settings.logprobs === true ? ['message.output_text.logprobs'] : undefined,
    user: settings.user,
    metadata: settings.metadata,
    service_tier: settings.tier,
    a_member_of_its_own: settings.own,
    store: false,
    stream: talk.stream,
  };
  return {
    body,
    told: told(withFreeInputs(talk), [...common, 'logprobs', 'format', 'verbosity', 'metadata'], { hasMarks: false }),
  };
}

function responsesText({ format, verbosity }: Settings): JsonObject | undefined {
  if (format === undefined && verbosity === undefined) return undefined;
  const said =
    format === 'schema'
      ? { type: 'json_schema', name: 'answer', schema }
      : { type: format === 'json' ? 'json_object' : 'text' };
  return { format: format === undefined ? undefined : said, verbosity };
}

function responsesExchange(talk: Talk, exchange: Exchange): readonly JsonObject[] {
  const { asked, media, thought, answered, calls, remark, instructed } = exchange;
  const content = [...asked.map((text) => ({ type: 'input_text', text })), ...media.map(responsesMedia)];
  const shownBeside = (result: string, shown: string | undefined): JsonValue =>
    shown === undefined
      ? result
      : [
          { type: 'input_text', text: result },
          { type: 'input_image', image_url: pngUrl(shown) },
        ];
  return [
    { type: 'message', role: 'user', content },
    ...(thought === undefined
      ? []
      : [
          {
            type: 'reasoning',
            id: 'rs_1',
            summary: [{ type: 'summary_text', text: thought.text }],
            encrypted_content: thought.proof,
          },
        ]),
    ...(answered === ''
      ? []
      : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: answered }] }]),
    ...calls.map((call) => {
      const said = { call_id: call.id, name: nameOf(talk, call.tool) };
      if (isFreeCall(talk, call)) return { type: 'custom_tool_call', ...said, input: freeText(call) };
      return { type: 'function_call', ...said, arguments: JSON.stringify(call.input) };
    }),
    ...answeredCalls(exchange).map((call) => ({
      type: isFreeCall(talk, call) ? 'custom_tool_call_output' : 'function_call_output',
      call_id: call.id,
      output: shownBeside(call.result, call.shown),
    })),
    ...(calls.length === 0 || remark === undefined ? [] : [{ role: 'user', content: remark }]),
    ...(instructed === undefined ? [] : [{ role: 'system', content: instructed }]),
  ];
}

function responsesMedia({ kind, how, mark: bytes }: Media): JsonObject {
  if (kind === 'sound') return { type: 'input_audio', input_audio: { data: base64(bytes), format: 'wav' } };
  const type = kind === 'image' ? 'input_image' : 'input_file';
  if (how === 'id') return { type, file_id: bytes };
  if (kind === 'image') return { type, image_url: how === 'url' ? `https://a.example/${bytes}.png` : pngUrl(bytes) };
  if (how === 'url') return { type, file_url: `https://a.example/${bytes}.pdf` };
  const media = how === 'text' ? 'text/plain' : 'application/pdf';
  return { type, filename: 'a.pdf', file_data: `data:${media};base64,${base64(bytes)}` };
}
