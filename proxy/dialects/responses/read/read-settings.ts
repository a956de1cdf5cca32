// Reads how an answer shall be thought out, formatted and sampled.
import type {
  ConversationRequest,
  OutputFormat,
  OwnMember,
  Sampling,
  Thinking,
} from '../../conversation/conversation.ts';
import { efforts, isEffort } from '../../conversation/effort.ts';
import { type JsonObject, numberOf } from '../../json/json.ts';
import {
  optionalFlag,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalText,
  requiredObject,
  requiredText,
  unknownMembers,
} from '../../json/members.ts';
import { InvalidRequest } from '../../translation.ts';

/** The settings of a member, and those that the conversation does not have. */
interface Settings<T> {
  readonly members: T;
  readonly ownMembers: readonly OwnMember[];
}

function hints(value: JsonObject, known: ReadonlySet<string>, at: readonly string[]): readonly OwnMember[] {
  return unknownMembers(value, known).map(([key, member]) => ({
    path: [...at, key],
    value: member,
    isMeaning: false,
  }));
}

const textMembers = new Set(['format', 'verbosity']);

/** `text`: the output format and the verbosity. Throws an InvalidRequest. */
export function readText(body: JsonObject): Settings<Pick<ConversationRequest, 'output' | 'verbosity'>> {
  const text = optionalObject(body, 'text') ?? {};
  const verbosity = optionalText(text, 'verbosity', 'text');
  const format = optionalObject(text, 'format', 'text');
  return {
    members: {
      ...(format === undefined ? {} : { output: readFormat(format) }),
      ...(verbosity === undefined ? {} : { verbosity }),
    },
    ownMembers: [...hints(format ?? {}, formatMembers, ['text', 'format']), ...hints(text, textMembers, ['text'])],
  };
}

const formatMembers = new Set(['type', 'name', 'description', 'schema', 'strict']);

function readFormat(format: JsonObject): OutputFormat {
  const at = 'text.format';
  const type = requiredText(format, 'type', at);
  if (type === 'text') return { kind: 'text' };
  if (type === 'json_object') return { kind: 'json' };
  if (type !== 'json_schema') throw new InvalidRequest(`${at}.type`, 'must be text, json_object or json_schema');
  const description = optionalText(format, 'description', at);
  const strict = optionalFlag(format, 'strict', at);
  return {
    kind: 'schema',
    name: requiredText(format, 'name', at),
    schema: requiredObject(format, 'schema', at),
    ...(description === undefined ? {} : { description }),
    ...(strict === undefined ? {} : { strict }),
  };
}

const reasoningMembers = new Set(['effort', 'summary']);

/** `reasoning`: effort and summary. Throws an InvalidRequest, also for an unknown effort. */
export function readReasoning(body: JsonObject): Settings<{ readonly thinking?: Thinking }> {
  const reasoning = optionalObject(body, 'reasoning') ?? {};
  const effort = optionalText(reasoning, 'effort', 'reasoning');
  const summary = optionalText(reasoning, 'summary', 'reasoning');
  if (effort !== undefined && effort !== 'none' && !isEffort(effort)) {
    throw new InvalidRequest('reasoning.effort', `must be none, ${efforts.join(', ')}`);
  }
  const ownMembers = hints(reasoning, reasoningMembers, ['reasoning']);
  if (effort === undefined && summary === undefined) return { members: {}, ownMembers };
  const asked: Thinking = effort === 'none' ? { mode: 'off' } : effort === undefined ? {} : { effort };
  return { members: { thinking: { ...asked, ...(summary === undefined ? {} : { summary }) } }, ownMembers };
}

/** The `include` entry that asks for log probabilities. */
export const includeLogprobs = 'message.output_text.logprobs';

/** The sampling settings. Throws an InvalidRequest for a member of the wrong type. */
export function readSampling(body: JsonObject): Settings<{ readonly sampling: Sampling }> {
  const temperature = optionalNumber(body, 'temperature');
  const topP = optionalNumber(body, 'top_p');
  const topLogprobs = numberOf(optionalNumber(body, 'top_logprobs'));
  const included = optionalList(body, 'include') ?? [];
  const others = included.filter((entry) => entry !== includeLogprobs);
  const sampling: Sampling = {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(others.length === included.length ? {} : { logprobs: true }),
    ...(topLogprobs === undefined ? {} : { topLogprobs }),
  };
  const ownMembers = others.length === 0 ? [] : [{ path: ['include'], value: others, isMeaning: false }];
  return { members: { sampling }, ownMembers };
}
