// Writes how an answer shall be made as Gemini's `generationConfig`: sampling, limits, form and thinking.
import type { ConversationRequest } from '../conversation/conversation.ts';
import { fieldName } from '../field-names.ts';
import { type JsonObject, numberOf, withoutAbsent } from '../json/json.ts';
import type { Losses, WriteTarget } from '../translation.ts';
import { biasOf, penaltyOf, stopsOf } from '../usual-settings.ts';
import { cleanSchema } from './clean-schema.ts';
import { writeThinking } from './write-thinking.ts';

/** Most texts at which it stops. */
const maxStops = 5;
/** Seeds have 32 bits there. */
const maxSeed = 2 ** 31 - 1;

/** Members that are called the same there. */
const sampled = ['temperature', 'topP', 'topK', 'presencePenalty', 'frequencyPenalty'] as const;

/** Writes the members that were asked for; an empty object when there are none. */
export function writeGeneration(request: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject {
  return withoutAbsent({
    ...writeSampling(request, target, losses),
    maxOutputTokens: request.maxTokens,
    ...writeSeed(request, losses),
    ...writeStops(request, losses),
    ...writeLogprobs(request, target, losses),
    ...writeFormat(request, target, losses),
    ...writeThoughts(request, target, losses),
  });
}

/** No penalty is what is usual, and some models refuse even that to be said. */
function writeSampling(
  { sampling, dialect }: ConversationRequest,
  { quirks }: WriteTarget,
  losses: Losses,
): JsonObject {
  const given = sampled.filter((member) => {
    const value = sampling[member];
    return (member.endsWith('Penalty') ? penaltyOf(value) : value) !== undefined;
  });
  const known = given.filter((member) => quirks.without?.includes(member) !== true);
  for (const member of given) if (!known.includes(member)) losses.hint(fieldName(member, dialect));
  return Object.fromEntries(known.map((member) => [member, sampling[member]]));
}

function writeSeed({ sampling: { seed }, dialect }: ConversationRequest, losses: Losses): JsonObject {
  if (seed === undefined) return {};
  const value = numberOf(seed) ?? 0;
  if (Number.isInteger(value) && Math.abs(value) <= maxSeed) return { seed };
  losses.hint(fieldName('seed', dialect));
  return {};
}

function writeStops(request: ConversationRequest, losses: Losses): JsonObject {
  const stops = stopsOf(request);
  if (stops.length === 0) return {};
  if (stops.length > maxStops)
    losses.meaning(fieldName('stop', request.dialect), `it stops at no more than ${maxStops} texts`);
  return { stopSequences: stops.slice(0, maxStops) };
}

function writeLogprobs(request: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject {
  const { sampling, dialect } = request;
  if (biasOf(request) !== undefined) losses.meaning(fieldName('logitBias', dialect), 'it has no bias of tokens');
  if (sampling.logprobs !== true) return {};
  if (target.quirks.without?.includes('logprobs') === true) {
    losses.meaning(fieldName('logprobs', dialect), 'it has no log probabilities');
    return {};
  }
  const { topLogprobs } = sampling;
  return {
    responseLogprobs: true,
    ...(topLogprobs === undefined || topLogprobs === 0 ? {} : { logprobs: topLogprobs }),
  };
}

function writeFormat({ output, dialect }: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject {
  if (output === undefined || output.kind === 'text') return {};
  const json = { responseMimeType: 'application/json' };
  if (output.kind === 'json') return json;
  if (target.quirks.takesJsonSchema === true) return { ...json, responseJsonSchema: output.schema };
  const { schema, dropped } = cleanSchema(output.schema);
  for (const keyword of dropped) losses.hint(`${fieldName('output', dialect)}.${keyword}`);
  return { ...json, responseSchema: schema };
}

function writeThoughts(request: ConversationRequest, { model, quirks }: WriteTarget, losses: Losses): JsonObject {
  const { thinking, dialect } = request;
  if (thinking === undefined) return {};
  const isKnown = quirks.without?.includes('thinkingConfig') !== true;
  const { config, isWhole } = isKnown
    ? writeThinking(request, model, showsThoughts(request))
    : { config: undefined, isWhole: false };
  if (!isWhole) losses.hint(fieldName('thinking', dialect));
  return config === undefined ? {} : { thinkingConfig: config };
}

/** Clients of chat have no word for it, and find thoughts beside the answer. */
function showsThoughts({ thinking, dialect }: ConversationRequest): boolean {
  const summary = thinking?.summary;
  if (summary !== undefined) return summary !== 'omitted' && summary !== 'none';
  return dialect === 'messages' ? thinking?.mode === 'on' || thinking?.mode === 'adaptive' : dialect === 'chat';
}
