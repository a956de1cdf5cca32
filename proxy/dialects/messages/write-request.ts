// Writes a request for Anthropic's Messages.
import { claudeTraitsOf } from '../claude/claude-models.ts';
import { closedOutput } from '../claude/claude-schema.ts';
import type { ConversationRequest } from '../conversation/conversation.ts';
import { fieldName } from '../field-names.ts';
import { type JsonObject, type JsonValue, objectOf, withoutAbsent } from '../json/json.ts';
import { tellOwnMembers } from '../own-losses.ts';
import type { Losses, WriteTarget } from '../translation.ts';
import { metadataOf, stopsOf, userOf, verbosityOf } from '../usual-settings.ts';
import { writeSampling } from './write-sampling.ts';
import { writeThinking } from './write-thinking.ts';
import { writeToolChoice, writeTools } from './write-tools.ts';
import { writeTurns } from './write-turns.ts';
import type { Writing } from './writing.ts';

/** Most tokens of an answer for which the client gives no number; Anthropic wants one. */
const defaultMaxTokens = 4096;

/** Members that are hints; those of any other name change the answer. */
const hints = new Set(['metadata', 'service_tier', 'temperature', 'thinking', 'top_k', 'top_p']);
/** The service tiers by OpenAI's and Anthropic's names: OpenAI's default is the tier below Anthropic's default. */
const tiers: ReadonlyMap<string, string> = new Map([
  ['auto', 'auto'],
  ['standard_only', 'standard_only'],
  ['default', 'standard_only'],
]);

/** The Messages body for a target. Throws what `losses` throws. */
export function writeRequest(request: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject {
  const { quirks, model } = target;
  const writing: Writing = { request, losses, traits: claudeTraitsOf(model) };
  const { system, messages } = writeTurns(writing);
  const tools = writeTools(writing);
  const thoughts = writeThinking(request, writing.traits);
  if (thoughts.isLost) losses.hint(fieldName('thinking', request.dialect));
  const thinks = thoughts.thinking !== undefined && thoughts.thinking['type'] !== 'disabled';
  const output_config = withoutAbsent({ effort: thoughts.effort, format: writeFormat(writing, target) });
  const body = withoutAbsent({
    model: quirks.isModelInPath === true ? undefined : model,
    max_tokens: maxTokensOf(request, thoughts.leastTokens),
    system,
    messages,
    tools,
    tool_choice: writeToolChoice(writing, tools !== undefined),
    thinking: thoughts.thinking,
    output_config: Object.keys(output_config).length === 0 ? undefined : output_config,
    ...writeSampling(writing, thinks),
    stop_sequences: writeStop(writing),
    metadata: writeUser(request),
    service_tier: writeTier(writing),
    stream: request.stream ? true : undefined,
  });
  tellHints(writing);
  const known = withoutUnknown(withOwn(body, writing), target, losses);
  const added = Object.entries(quirks.adds ?? {}).filter(([key]) => !Object.hasOwn(known, key));
  return { ...known, ...Object.fromEntries(added) };
}

/** The cap of the answer in tokens. The client's cap is never raised. `least`: the cap that a thinking budget needs. */
function maxTokensOf({ maxTokens }: ConversationRequest, least: number): JsonValue {
  return maxTokens ?? Math.max(defaultMaxTokens, least);
}

function writeFormat({ request, losses }: Writing, { quirks }: WriteTarget): JsonObject | undefined {
  const { output, dialect } = request;
  if (output === undefined || output.kind === 'text') return undefined;
  const field = fieldName('output', dialect);
  if (output.kind === 'json') losses.meaning(field, 'it has no JSON output without a schema');
  else if (quirks.outputSchema === false) losses.meaning(field, 'it has no schemas');
  else {
    const schema = dialect === 'messages' ? output.schema : closedOutput(output.schema, field, losses);
    return schema && { type: 'json_schema', schema };
  }
  return undefined;
}

function writeUser(request: ConversationRequest): JsonObject | undefined {
  const user = request.dialect === 'messages' ? request.user : userOf(request);
  return user === undefined ? undefined : { user_id: user };
}

/** Anthropic refuses a text of blanks. */
function writeStop({ request, losses }: Writing): readonly string[] | undefined {
  const { dialect } = request;
  const stop = stopsOf(request);
  const taken = dialect === 'messages' ? stop : stop.filter((text) => text.trim() !== '');
  if (taken.length < stop.length) losses.meaning(fieldName('stop', dialect), 'it does not stop at blanks');
  return taken.length === 0 ? undefined : taken;
}

function writeTier({ request, losses }: Writing): string | undefined {
  const { serviceTier, dialect } = request;
  if (serviceTier === undefined || dialect === 'messages') return serviceTier;
  const tier = tiers.get(serviceTier);
  if (tier === undefined) losses.hint(fieldName('serviceTier', dialect));
  return tier;
}

function tellHints({ request, losses }: Writing): void {
  const { dialect } = request;
  if (metadataOf(request) !== undefined) losses.hint(fieldName('metadata', dialect));
  if (verbosityOf(request) !== undefined) losses.hint(fieldName('verbosity', dialect));
}

/** Adds members that only the client's dialect has; they are lost in any other dialect. */
function withOwn(body: JsonObject, { request, losses }: Writing): JsonObject {
  if (request.dialect !== 'messages') {
    tellOwnMembers(request, losses, { because: 'it has no such member' });
    return body;
  }
  return request.ownMembers.reduce((written, { path, value }) => placed(written, path, value), body);
}

function placed(body: JsonObject, [key, ...rest]: readonly string[], value: JsonValue): JsonObject {
  if (key === undefined) return body;
  const inner = Object.hasOwn(body, key) ? objectOf(body[key]) : undefined;
  const others = Object.entries(body).filter(([name]) => name !== key);
  return Object.fromEntries([...others, [key, rest.length === 0 ? value : placed(inner ?? {}, rest, value)]]);
}

/** A choice of tools that leaves it to the model. */
function isFree(value: JsonValue | undefined): boolean {
  return objectOf(value)?.['type'] === 'auto';
}

/** Leaves out what this server does not know. */
function withoutUnknown(body: JsonObject, { quirks }: WriteTarget, losses: Losses): JsonObject {
  const unknown = (quirks.without ?? []).filter((key) => Object.hasOwn(body, key));
  if (unknown.length === 0) return body;
  for (const key of unknown) {
    if (hints.has(key) || isFree(body[key])) losses.hint(key);
    else losses.meaning(key, `it has no ${key}`);
  }
  return Object.fromEntries(Object.entries(body).filter(([key]) => !unknown.includes(key)));
}
