// Writes a request to Converse and ConverseStream: they take the same body, and the path says which one is meant.
import { closedOutput } from '../claude/claude-schema.ts';
import type { ConversationRequest, OutputFormat } from '../conversation/conversation.ts';
import { type JsonObject, unlessEmpty, writeJson } from '../json/json.ts';
import { tellOwnMembers } from '../own-losses.ts';
import type { Losses, WriteTarget } from '../translation.ts';
import { biasOf, metadataOf, penaltyOf, stopsOf, tierOf, userOf, verbosityOf } from '../usual-settings.ts';
import { traitsOf } from './model-traits.ts';
import { writeConversation } from './write-messages.ts';
import { writeSampling } from './write-sampling.ts';
import { writeThinking } from './write-thinking.ts';
import { writeTools } from './write-tools.ts';
import { Writing } from './writing.ts';

/** The Converse body for a model. Throws what `losses` throws. */
export function writeRequest(request: ConversationRequest, { model }: WriteTarget, losses: Losses): JsonObject {
  const writing = new Writing(traitsOf(model), losses, request.dialect);
  const toolConfig = writeTools(request, writing);
  const thinking = writeThinking(request, writing);
  const { temperature, topP, fields } = writeSampling(request, thinking?.isOn === true, writing);
  const stopSequences = writeStop(request, writing);
  tellLosses(request, writing);
  return {
    ...writeConversation(request, toolConfig === undefined, writing),
    inferenceConfig: unlessAbsent({ maxTokens: request.maxTokens, temperature, topP, stopSequences }),
    toolConfig,
    outputConfig: writeOutput(request.output, writing),
    additionalModelRequestFields: unlessAbsent({ ...thinking?.fields, ...fields }),
    // Converse itself does not say which sequence it was.
    additionalModelResponseFieldPaths:
      writing.traits.family === 'claude' && stopSequences !== undefined ? ['/stop_sequence'] : undefined,
  };
}

function writeOutput(output: OutputFormat | undefined, writing: Writing): JsonObject | undefined {
  if (output === undefined || output.kind === 'text') return undefined;
  if (output.kind === 'json') {
    writing.meaning('output', 'it writes JSON by a schema only');
    return undefined;
  }
  const { name, description } = output;
  const schema = closedOutput(output.schema, writing.nameOf('output'), writing.losses);
  if (schema === undefined) return undefined;
  const jsonSchema = { schema: writeJson(schema), name, description };
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } };
}

/** Claude refuses a text of blanks. Undefined: none. */
function writeStop(request: ConversationRequest, writing: Writing): readonly string[] | undefined {
  const stops = stopsOf(request);
  const taken = writing.traits.family === 'claude' ? stops.filter((text) => text.trim() !== '') : stops;
  if (taken.length < stops.length) writing.meaning('stop', 'it does not stop at blanks');
  return unlessEmpty(taken);
}

function tellLosses(request: ConversationRequest, writing: Writing): void {
  const { sampling } = request;
  const hints = {
    verbosity: verbosityOf(request),
    user: userOf(request),
    metadata: metadataOf(request),
    serviceTier: tierOf(request),
    seed: sampling.seed,
    presencePenalty: penaltyOf(sampling.presencePenalty),
    frequencyPenalty: penaltyOf(sampling.frequencyPenalty),
  } as const;
  for (const member of Object.keys(hints) as (keyof typeof hints)[]) {
    if (hints[member] !== undefined) writing.hint(member);
  }
  if (sampling.logprobs || sampling.topLogprobs) writing.meaning('logprobs', 'it has no log probabilities');
  if (biasOf(request) !== undefined) writing.meaning('logitBias', 'it cannot favour single tokens');
  tellOwnMembers(request, writing.losses, { because: 'it has no such member' });
}

function unlessAbsent(object: JsonObject): JsonObject | undefined {
  return Object.values(object).some((value) => value !== undefined) ? object : undefined;
}
