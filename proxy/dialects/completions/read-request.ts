// Reads a request of the older text completions: a prompt that a model goes on with becomes the words of a user.

import { readSampling, readStop } from '../chat/read/read-settings.ts';
import type { ConversationRequest, OwnMember } from '../conversation/conversation.ts';
import { type JsonObject, numberOf, withoutAbsent } from '../json/json.ts';
import { optionalFlag, optionalNumber, optionalObject, optionalText, unknownMembers } from '../json/members.ts';
import { InvalidRequest } from '../translation.ts';

const known: ReadonlySet<string> = new Set(
  [
    'model prompt suffix max_tokens temperature top_p top_k n best_of stream stream_options logprobs echo stop',
    'presence_penalty frequency_penalty logit_bias seed user',
  ].flatMap((names) => names.split(' ')),
);

/** Throws an InvalidRequest. `max_tokens` that is absent stays so: the model decides, not the 16 of the older models. */
export function readRequest(body: JsonObject): ConversationRequest {
  const options = optionalObject(body, 'stream_options') ?? {};
  const { logprobs: _, top_logprobs: __, ...sampled } = body;
  return {
    dialect: 'completions',
    system: [],
    turns: [{ role: 'user', parts: [{ kind: 'text', text: promptOf(body) }] }],
    tools: [],
    sampling: readSampling(sampled),
    stop: readStop(body),
    stream: optionalFlag(body, 'stream') ?? false,
    wantsUsage: optionalFlag(options, 'include_usage', 'stream_options') ?? false,
    ownMembers: [
      ...ownMeanings(body),
      ...unknownMembers(body, known).map(([key, value]) => ({ path: [key], value, isMeaning: false })),
    ],
    ...withoutAbsent({ maxTokens: optionalNumber(body, 'max_tokens'), user: optionalText(body, 'user') }),
  };
}

/** One text, bare or in a list. */
function promptOf(body: JsonObject): string {
  const prompt = body['prompt'] ?? undefined;
  if (prompt === undefined) throw new InvalidRequest('prompt', 'is missing; it must be a text');
  const [first, ...others] = Array.isArray(prompt) ? prompt : [prompt];
  if (others.length > 0 && typeof first === 'string') {
    throw new InvalidRequest('prompt', 'must be one text; several are not translated');
  }
  if (typeof first === 'string') return first;
  const isTokens = numberOf(first) !== undefined || Array.isArray(first);
  throw new InvalidRequest('prompt', isTokens ? 'must be a text; tokens are not translated' : 'must be a text');
}

/** Members that change the answer, unless they say what is usual. */
function ownMeanings(body: JsonObject): readonly OwnMember[] {
  const found = [
    ['suffix', optionalText(body, 'suffix') || undefined],
    ['n', moreThanOne(body, 'n')],
    ['best_of', moreThanOne(body, 'best_of')],
    ['logprobs', optionalNumber(body, 'logprobs')],
    ['echo', optionalFlag(body, 'echo') || undefined],
  ] as const;
  return found.flatMap(([name, value]) => (value === undefined ? [] : [{ path: [name], value, isMeaning: true }]));
}

function moreThanOne(body: JsonObject, key: string): number | undefined {
  const count = numberOf(optionalNumber(body, key));
  return count === 1 ? undefined : count;
}
