// What the writers of a request's parts need to know of it.
import type { ClaudeTraits } from '../claude/claude-models.ts';
import type { ConversationRequest } from '../conversation/conversation.ts';
import type { Losses } from '../translation.ts';

export interface Writing {
  readonly request: ConversationRequest;
  readonly losses: Losses;
  readonly traits: ClaudeTraits;
}
