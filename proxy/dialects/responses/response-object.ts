// The response object of OpenAI: what was answered, and the settings of the request once more.
import type { ConversationUsage, Finish } from '../conversation/conversation.ts';
import type { StreamFailure } from '../conversation/stream-event.ts';
import { type EditableObject, type JsonObject, type JsonValue, objectOf } from '../json/json.ts';
import type { AnswerContext } from '../translation.ts';
import { writeUsage } from './read/read-usage.ts';

/** The members that are the same in all events. */
export interface ResponseHead {
  readonly id: string;
  readonly model: string;
  readonly createdAt: number;
  readonly serviceTier: string | undefined;
}

export interface ResponseState {
  readonly output: readonly JsonObject[];
  readonly usage?: ConversationUsage | undefined;
  /** Absent: the answer is still coming, or it failed. */
  readonly finish?: Finish | undefined;
  readonly failure?: StreamFailure | undefined;
}

interface Known {
  readonly id: string;
  readonly model: string;
  readonly createdAt?: number | undefined;
  readonly serviceTier?: string | undefined;
}

/** Clients tell responses by the beginning of their ids, so others get a new one. */
export function responseHead({ id, model, createdAt, serviceTier }: Known, context: AnswerContext): ResponseHead {
  return {
    id: id.startsWith('resp_') ? id : `resp_${context.newId()}`,
    model: model === '' ? context.model : model,
    createdAt: createdAt ?? context.nowSeconds,
    serviceTier,
  };
}

/** Why an answer is incomplete; undefined: it is not. `isRefused`: the model says in words that it declines, which is complete. */
export function incompleteReason(
  { reason }: Finish,
  isRefused: boolean,
): 'max_output_tokens' | 'content_filter' | undefined {
  if (reason === 'length') return 'max_output_tokens';
  return reason === 'filtered' || (reason === 'refusal' && !isRefused) ? 'content_filter' : undefined;
}

function hasRefusal(output: readonly JsonObject[]): boolean {
  return output.some(({ content }) => Array.isArray(content) && content.some((part) => part.type === 'refusal'));
}

/** The response at a state of its stream. A finish makes it completed or incomplete, a failure failed. */
export function responseObject(head: ResponseHead, state: ResponseState, context: AnswerContext): JsonObject {
  const { output, usage, finish, failure } = state;
  const reason = finish && incompleteReason(finish, hasRefusal(output));
  const ended = finish === undefined ? 'in_progress' : reason === undefined ? 'completed' : 'incomplete';
  const status = failure === undefined ? ended : 'failed';
  return {
    id: head.id,
    object: 'response',
    created_at: head.createdAt,
    status,
    ...(status === 'completed' ? { completed_at: context.nowSeconds } : {}),
    error: failure === undefined ? null : { code: failure.code ?? 'server_error', message: failure.message },
    incomplete_details: reason === undefined ? null : { reason },
    model: head.model,
    output,
    usage: usage === undefined ? null : writeUsage(usage),
    ...settings(context.isLong ? shortMembers(context.body) : context.body),
    ...(head.serviceTier === undefined ? {} : { service_tier: head.serviceTier }),
  };
}

/** Settings and what they are when the client does not say; null where that is the provider's matter. */
const usual: JsonObject = {
  background: false,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: 'auto',
  store: true,
  temperature: null,
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: null,
  truncation: 'disabled',
};

/** Longest text that is repeated of a long request. Characters. */
const longestSetting = 4096;

/** The members of a long request that can be repeated at any time. */
function shortMembers(body: JsonObject): JsonObject {
  const isShort = (value: JsonValue | undefined): boolean =>
    typeof value === 'string' ? value.length <= longestSetting : typeof value !== 'object';
  return Object.fromEntries(Object.entries(body).filter(([, value]) => isShort(value)));
}

function settings(body: JsonObject): JsonObject {
  const said: EditableObject = { ...usual };
  for (const key in usual) said[key] = body[key] ?? usual[key];
  const conversation = body['conversation'];
  return {
    ...said,
    reasoning: { effort: null, summary: null, ...objectOf(body['reasoning']) },
    text: { ...objectOf(body['text']), format: objectOf(body['text'])?.['format'] ?? { type: 'text' } },
    ...(typeof body['user'] === 'string' ? { user: body['user'] } : {}),
    ...(typeof conversation === 'string' ? { conversation: { id: conversation } } : {}),
  };
}
