// Reads the body of a request in the Responses format. Input that is a text counts as a message of the user with one part.
import type { ConversationRequest, OwnMember } from '../../conversation/conversation.ts';
import type { JsonObject } from '../../json/json.ts';
import {
  optionalFlag,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalText,
  unknownMembers,
} from '../../json/members.ts';
import { InvalidRequest } from '../../translation.ts';
import { type ReadInput, readItems } from './read-items.ts';
import { readReasoning, readSampling, readText } from './read-settings.ts';
import { readTools } from './read-tools.ts';

/** Members that the conversation has words for, besides the model's name. */
const known = new Set(
  `model input instructions tools tool_choice parallel_tool_calls text reasoning include temperature top_p top_logprobs
  max_output_tokens stream user metadata service_tier`.split(/\s+/),
);
/** Without these the answer would be another one. */
const meanings = new Set(['conversation', 'prompt', 'previous_response_id', 'max_tool_calls', 'moderation']);

/** Throws an InvalidRequest. What it does not know is kept as a hint. */
export function readRequest(body: JsonObject): ConversationRequest {
  const { system, turns } = readInput(body);
  const instructions = optionalText(body, 'instructions');
  const tools = readTools(body);
  const text = readText(body);
  const reasoning = readReasoning(body);
  const sampling = readSampling(body);
  const own = [tools, text, reasoning, sampling].flatMap(({ ownMembers }) => ownMembers);
  return {
    dialect: 'responses',
    system: instructions === undefined ? system : [{ kind: 'text', text: instructions }, ...system],
    turns,
    tools: tools.tools,
    ...(tools.toolChoice === undefined ? {} : { toolChoice: tools.toolChoice }),
    ...text.members,
    ...reasoning.members,
    ...sampling.members,
    ...readOthers(body),
    stop: [],
    stream: optionalFlag(body, 'stream') ?? false,
    wantsUsage: false,
    ownMembers: [...own, ...unknownMembers(body, known).map(ownMember)],
  };
}

function readInput(body: JsonObject): ReadInput {
  const input = body['input'];
  if (typeof input === 'string') {
    return { system: [], turns: [{ role: 'user', parts: [{ kind: 'text', text: input }] }] };
  }
  const items = Array.isArray(input) ? optionalList(body, 'input') : undefined;
  if (items !== undefined) return readItems(items);
  if (input !== undefined && input !== null) throw new InvalidRequest('input', 'must be a text or a list');
  // A template, or what was said before, may be all.
  if (['conversation', 'prompt', 'previous_response_id'].some((key) => (body[key] ?? null) !== null)) {
    return { system: [], turns: [] };
  }
  throw new InvalidRequest('input', 'is missing; it must be a text or a list');
}

function ownMember([key, value]: readonly [string, OwnMember['value']]): OwnMember {
  return { path: [key], value, isMeaning: meanings.has(key) || (key === 'background' && value === true) };
}

type Others = 'parallelTools' | 'maxTokens' | 'user' | 'metadata' | 'serviceTier';

function readOthers(body: JsonObject): Pick<ConversationRequest, Others> {
  const parallelTools = optionalFlag(body, 'parallel_tool_calls');
  const maxTokens = optionalNumber(body, 'max_output_tokens');
  const user = optionalText(body, 'user');
  const metadata = optionalObject(body, 'metadata');
  const serviceTier = optionalText(body, 'service_tier');
  return {
    ...(parallelTools === undefined ? {} : { parallelTools }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(user === undefined ? {} : { user }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(serviceTier === undefined ? {} : { serviceTier }),
  };
}
