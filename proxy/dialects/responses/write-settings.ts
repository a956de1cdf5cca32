// Writes how an answer shall be thought out, formatted and sampled.
import type { ConversationRequest, OutputFormat, Thinking } from '../conversation/conversation.ts';
import { effortOfBudget } from '../conversation/effort.ts';
import { fieldName } from '../field-names.ts';
import { type JsonObject, type JsonValue, numberOf } from '../json/json.ts';
import type { Losses, WriteTarget } from '../translation.ts';
import { biasOf, penaltyOf, stopsOf } from '../usual-settings.ts';
import { includeLogprobs } from './read/read-settings.ts';

/** `text`: the output format and the verbosity; nothing when neither is set. */
export function writeText({ output, verbosity }: ConversationRequest): JsonObject {
  if (output === undefined && verbosity === undefined) return {};
  return {
    text: {
      ...(output === undefined ? {} : { format: writeFormat(output) }),
      ...(verbosity === undefined ? {} : { verbosity }),
    },
  };
}

function writeFormat(output: OutputFormat): JsonObject {
  if (output.kind === 'text') return { type: 'text' };
  if (output.kind === 'json') return { type: 'json_object' };
  const { name, description, schema, strict } = output;
  return {
    type: 'json_schema',
    name: name ?? 'answer',
    ...(description === undefined ? {} : { description }),
    schema,
    ...(strict === undefined ? {} : { strict }),
  };
}

/** OpenAI's models that think, and take no temperature. */
const thinkers = /^(o\d|gpt-5)/;
/** OpenAI's models that do not think, and refuse to be asked to. */
const speakers = /^(gpt-[34]|chatgpt-)/;

/** Whether the target is OpenAI's own server with such a model; other servers are not known to refuse it. */
function isOpenai(pattern: RegExp, { model, quirks }: WriteTarget): boolean {
  return quirks.isInventor === true && pattern.test(model);
}

const summaries: ReadonlySet<string | undefined> = new Set(['auto', 'concise', 'detailed']);

/** `reasoning`: effort and summary. A loss is a hint. */
export function writeReasoning(request: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject {
  const { thinking, dialect } = request;
  if (thinking === undefined) return {};
  const isOwn = dialect === 'responses';
  if (!isOwn && isOpenai(speakers, target)) {
    if (thinking.mode !== 'off') losses.hint(fieldName('thinking', dialect));
    return {};
  }
  // Another server may not know how to be told not to think; models that always think do.
  const effort = isOwn || thinking.mode !== 'off' || isOpenai(thinkers, target) ? effortOf(thinking) : undefined;
  const told = thinking.summary === 'summarized' ? 'auto' : thinking.summary;
  const summary = isOwn || summaries.has(told) ? told : undefined;
  if (effort === undefined && summary === undefined) return {};
  return {
    reasoning: { ...(effort === undefined ? {} : { effort }), ...(summary === undefined ? {} : { summary }) },
  };
}

/** Undefined: as much as is usual. Budgets of tokens become the effort that thinks about as long. */
function effortOf({ mode, effort, budgetTokens }: Thinking): string | undefined {
  if (mode === 'off') return 'none';
  if (effort !== undefined || budgetTokens === undefined) return effort;
  return effortOfBudget(budgetTokens);
}

/** Whether the encrypted thoughts shall come with the answer, so that the client can send them back. */
function wantsThoughts({ dialect, thinking }: ConversationRequest, target: WriteTarget): boolean {
  if (dialect === 'responses') return false;
  if (isOpenai(speakers, target)) return false;
  return isOpenai(thinkers, target) || (thinking !== undefined && thinking.mode !== 'off');
}

/** The sampling settings. Throws what `losses` throws for settings that the format does not have. */
export function writeSampling(request: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject {
  const { sampling, dialect } = request;
  const { logprobs, topLogprobs } = sampling;
  const name = (member: Parameters<typeof fieldName>[0]): string => fieldName(member, dialect);
  if (sampling.topK !== undefined) losses.hint(name('topK'));
  if (sampling.seed !== undefined) losses.hint(name('seed'));
  if (stopsOf(request).length > 0) losses.meaning(name('stop'), 'it has no texts to stop at');
  if (penaltyOf(sampling.presencePenalty) !== undefined) losses.meaning(name('presencePenalty'), 'it has no penalties');
  if (penaltyOf(sampling.frequencyPenalty) !== undefined)
    losses.meaning(name('frequencyPenalty'), 'it has no penalties');
  if (biasOf(request) !== undefined) losses.meaning(name('logitBias'), 'it has no bias of tokens');
  const include = [
    ...(logprobs === true ? [includeLogprobs] : []),
    ...(wantsThoughts(request, target) ? ['reasoning.encrypted_content'] : []),
  ];
  return {
    ...chances(request, target, losses),
    ...(topLogprobs === undefined ? {} : { top_logprobs: topLogprobs }),
    ...(include.length === 0 ? {} : { include }),
  };
}

/** Clients of other dialects send them to every model; the models that think take none but the usual ones. */
function chances({ sampling, dialect }: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject {
  const isFixed = dialect !== 'responses' && isOpenai(thinkers, target);
  const written: Record<string, JsonValue> = {};
  const members = [
    ['temperature', 'temperature'],
    ['top_p', 'topP'],
  ] as const;
  for (const [key, member] of members) {
    const value = sampling[member];
    if (value === undefined) continue;
    if (!isFixed) written[key] = value;
    else if (numberOf(value) !== 1) losses.hint(fieldName(member, dialect));
  }
  return written;
}
