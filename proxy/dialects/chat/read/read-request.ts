// Reads a request of chat completions into a conversation.
import type { ConversationRequest, OwnMember } from '../../conversation/conversation.ts';
import { type JsonObject, type JsonValue, numberOf, withoutAbsent } from '../../json/json.ts';
import {
  optionalFlag,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalText,
  unknownMembers,
} from '../../json/members.ts';
import { readMessages } from './read-messages.ts';
import { readOutput, readSampling, readStop, readThinking } from './read-settings.ts';
import { readTools } from './read-tools.ts';

const known: ReadonlySet<string> = new Set(
  [
    'model messages tools functions tool_choice function_call parallel_tool_calls response_format verbosity',
    'temperature top_p top_k seed presence_penalty frequency_penalty logit_bias logprobs top_logprobs stop',
    'max_tokens max_completion_tokens reasoning_effort reasoning thinking stream stream_options user metadata',
    'service_tier n modalities audio web_search_options',
  ].flatMap((names) => names.split(' ')),
);

/** Throws an InvalidRequest. Where two members say the same, the newer one counts. */
export function readRequest(body: JsonObject): ConversationRequest {
  const { tools, toolChoice } = readTools(body);
  const { thinking, own: ownThinking } = readThinking(body);
  const format = readOutput(body);
  const isOwnFormat = format !== undefined && 'path' in format;
  const options = optionalObject(body, 'stream_options') ?? {};
  return {
    dialect: 'chat',
    ...readMessages(body),
    tools,
    sampling: readSampling(body),
    stop: readStop(body),
    stream: optionalFlag(body, 'stream') ?? false,
    wantsUsage: optionalFlag(options, 'include_usage', 'stream_options') ?? false,
    ownMembers: [
      ...ownMeanings(body),
      ...(isOwnFormat ? [format] : []),
      ...ownThinking,
      ...hints(options, new Set(['include_usage']), ['stream_options']),
      ...hints(body, known, []).map((member) => ({ ...member, isMeaning: isFormOfAnswer(member) })),
    ],
    ...withoutAbsent({
      toolChoice,
      parallelTools: optionalFlag(body, 'parallel_tool_calls'),
      output: isOwnFormat ? undefined : format,
      verbosity: optionalText(body, 'verbosity'),
      maxTokens: optionalNumber(body, 'max_completion_tokens') ?? optionalNumber(body, 'max_tokens'),
      thinking,
      user: optionalText(body, 'user'),
      metadata: optionalObject(body, 'metadata'),
      serviceTier: optionalText(body, 'service_tier'),
    }),
  };
}

/** Members of OpenAI and of other servers that say what the answer must look like, what it goes on from, or what it must come with. */
const forms: ReadonlySet<string> = new Set(
  [
    'moderation guided_json guided_regex guided_choice guided_grammar structured_outputs grammar json_schema regex ebnf',
    'stop_token_ids ignore_eos min_tokens best_of use_beam_search echo suffix continue_final_message documents',
    'search_parameters web_search plugins',
  ].flatMap((names) => names.split(' ')),
);

function isFormOfAnswer({ path: [name = ''], value }: OwnMember): boolean {
  const isOff = value === false || numberOf(value) === 0 || (name === 'best_of' && numberOf(value) === 1);
  return forms.has(name) && !isOff;
}

/** Members that change the answer, unless they say what is usual. */
function ownMeanings(body: JsonObject): readonly OwnMember[] {
  const choices = optionalNumber(body, 'n');
  const modalities = optionalList(body, 'modalities');
  const isSpoken = modalities?.some((modality) => modality !== 'text') ?? false;
  const found: [string, JsonValue | undefined][] = [
    ['n', numberOf(choices) === 1 ? undefined : choices],
    ['modalities', isSpoken ? modalities : undefined],
    ['audio', isSpoken ? optionalObject(body, 'audio') : undefined],
    ['web_search_options', optionalObject(body, 'web_search_options')],
  ];
  return found.flatMap(([name, value]) => (value === undefined ? [] : [{ path: [name], value, isMeaning: true }]));
}

function hints(object: JsonObject, but: ReadonlySet<string>, above: readonly string[]): readonly OwnMember[] {
  return unknownMembers(object, but).map(([key, value]) => ({ path: [...above, key], value, isMeaning: false }));
}
