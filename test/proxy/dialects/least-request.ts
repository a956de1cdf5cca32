// What the writers of requests are tested with: a request that asks for next to nothing, and a record of what they tell.
import type { ConversationRequest } from '../../../proxy/dialects/conversation/conversation.ts';
import type { Losses } from '../../../proxy/dialects/translation.ts';

export const leastRequest: ConversationRequest = {
  dialect: 'chat',
  system: [],
  turns: [{ role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
  tools: [],
  sampling: {},
  stop: [],
  stream: false,
  wantsUsage: false,
  ownMembers: [],
};

/** Hints by name, meanings with their reason. */
export function recordLosses(): { losses: Losses; hints: readonly string[]; meanings: readonly string[] } {
  const hints: string[] = [];
  const meanings: string[] = [];
  const losses = {
    hint: (field: string): void => void hints.push(field),
    meaning: (field: string, because: string): void => void meanings.push(`${field}: ${because}`),
  };
  return { losses, hints, meanings };
}
