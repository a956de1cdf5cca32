// Reads how an answer is to be: sampling, thinking and its format.
import type { OutputFormat, OwnMember, Sampling, Thinking } from '../../conversation/conversation.ts';
import { isEffort } from '../../conversation/effort.ts';
import { type JsonObject, numberOf, withoutAbsent } from '../../json/json.ts';
import {
  optionalFlag,
  optionalNumber,
  optionalObject,
  optionalText,
  pathOf,
  requiredObject,
  requiredText,
} from '../../json/members.ts';
import { InvalidRequest } from '../../translation.ts';

/** The sampling settings. Throws an InvalidRequest for a member of the wrong type. */
export function readSampling(body: JsonObject): Sampling {
  return withoutAbsent({
    temperature: optionalNumber(body, 'temperature'),
    topP: optionalNumber(body, 'top_p'),
    topK: optionalNumber(body, 'top_k'),
    seed: optionalNumber(body, 'seed'),
    presencePenalty: optionalNumber(body, 'presence_penalty'),
    frequencyPenalty: optionalNumber(body, 'frequency_penalty'),
    logitBias: optionalObject(body, 'logit_bias'),
    logprobs: optionalFlag(body, 'logprobs'),
    topLogprobs: numberOf(optionalNumber(body, 'top_logprobs')),
  });
}

/** `stop`, a text or a list of texts, as a list. Throws an InvalidRequest for any other value. */
export function readStop(body: JsonObject): readonly string[] {
  const { stop } = body;
  if (stop === undefined || stop === null) return [];
  if (typeof stop === 'string') return [stop];
  if (!Array.isArray(stop)) throw new InvalidRequest('stop', 'must be a text or a list of texts');
  return stop.map((text: unknown, index) => {
    if (typeof text === 'string') return text;
    throw new InvalidRequest(`stop[${index}]`, 'must be a text');
  });
}

/** `response_format`; an own member for a format of some other server. Throws an InvalidRequest. */
export function readOutput(body: JsonObject): OutputFormat | OwnMember | undefined {
  const format = optionalObject(body, 'response_format');
  if (format === undefined) return undefined;
  const type = requiredText(format, 'type', 'response_format');
  if (type === 'text') return { kind: 'text' };
  if (type === 'json_object') return { kind: 'json' };
  if (type !== 'json_schema') return { path: ['response_format'], value: format, isMeaning: true };
  const at = 'response_format.json_schema';
  const said = requiredObject(format, 'json_schema', 'response_format');
  const rest = withoutAbsent({
    name: optionalText(said, 'name', at),
    description: optionalText(said, 'description', at),
    strict: optionalFlag(said, 'strict', at),
  });
  return { kind: 'schema', schema: optionalObject(said, 'schema', at) ?? {}, ...rest };
}

export interface ReadThinking {
  readonly thinking?: Thinking | undefined;
  readonly own: readonly OwnMember[];
}

/** `reasoning_effort` (OpenAI), `reasoning` (OpenRouter) and `thinking` (DeepSeek and others, as Anthropic writes it). */
export function readThinking(body: JsonObject): ReadThinking {
  const reasoning = optionalObject(body, 'reasoning') ?? {};
  const asked = optionalObject(body, 'thinking') ?? {};
  const said = optionalText(body, 'reasoning_effort') ?? optionalText(reasoning, 'effort', 'reasoning');
  const budget =
    optionalNumber(reasoning, 'max_tokens', 'reasoning') ?? optionalNumber(asked, 'budget_tokens', 'thinking');
  const isHidden = optionalFlag(reasoning, 'exclude', 'reasoning') === true;
  const thinking: Thinking = withoutAbsent({
    mode: said === 'none' ? ('off' as const) : modeOf(reasoning, asked),
    betweenTools: asked['type'] === 'between_tools' ? (true as const) : undefined,
    effort: said !== undefined && isEffort(said) ? said : undefined,
    budgetTokens: numberOf(budget),
    summary: isHidden ? 'omitted' : optionalText(reasoning, 'summary', 'reasoning'),
  });
  const isUnknown = said !== undefined && said !== 'none' && !isEffort(said);
  return {
    ...(Object.keys(thinking).length === 0 ? {} : { thinking }),
    own: isUnknown ? [{ path: ['reasoning_effort'], value: said, isMeaning: false }] : [],
  };
}

function modeOf(reasoning: JsonObject, asked: JsonObject): Thinking['mode'] {
  const isEnabled = optionalFlag(reasoning, 'enabled', 'reasoning');
  if (isEnabled !== undefined) return isEnabled ? 'on' : 'off';
  const type = optionalText(asked, 'type', 'thinking');
  if (type === undefined) return undefined;
  if (type === 'enabled') return 'on';
  if (type === 'disabled' || type === 'between_tools') return 'off';
  if (type === 'adaptive' || type === 'auto') return 'adaptive';
  throw new InvalidRequest(pathOf('thinking', 'type'), 'must be enabled, disabled, between_tools or adaptive');
}
