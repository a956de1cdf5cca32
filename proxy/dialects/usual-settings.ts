// Settings of a request that ask for what is usual anyway: without them nothing is lost, so no client is told that they were left out.
import type { ConversationRequest } from './conversation/conversation.ts';
import { type JsonObject, type JsonValue, numberOf } from './json/json.ts';

const usualTiers: ReadonlySet<string> = new Set(['auto', 'default']);

/** Labels that say nothing are none. Undefined: there are none. */
export function metadataOf({ metadata }: ConversationRequest): JsonObject | undefined {
  return metadata === undefined || Object.keys(metadata).length === 0 ? undefined : metadata;
}

/** Undefined: the usual class of service. */
export function tierOf({ serviceTier }: ConversationRequest): string | undefined {
  return serviceTier === undefined || usualTiers.has(serviceTier) ? undefined : serviceTier;
}

/** Undefined: as much as is usual. */
export function verbosityOf({ verbosity }: ConversationRequest): string | undefined {
  return verbosity === 'medium' ? undefined : verbosity;
}

/** OpenAI refuses a longer name of the person who asks. Characters. */
export const longestUser = 64;

/** Undefined: no name. */
export function userOf({ user }: ConversationRequest): string | undefined {
  return user === '' ? undefined : user;
}

/** Undefined: there is none, or it is nothing. */
export function penaltyOf(penalty: JsonValue | undefined): JsonValue | undefined {
  return numberOf(penalty) === 0 ? undefined : penalty;
}

/** Undefined: no token is favoured. */
export function biasOf({ sampling: { logitBias } }: ConversationRequest): JsonObject | undefined {
  return logitBias === undefined || Object.keys(logitBias).length === 0 ? undefined : logitBias;
}

/** Texts at which the answer ends; an empty one ends nothing. */
export function stopsOf({ stop }: ConversationRequest): readonly string[] {
  return stop.includes('') ? stop.filter((text) => text !== '') : stop;
}
