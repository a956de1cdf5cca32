// The facts of a request that the writers of its parts need.
import type { ClaudeTraits } from '../claude/claude-models.ts';
import type { ConversationRequest } from '../conversation/conversation.ts';
import type { Losses } from '../translation.ts';

export interface Writing {
  readonly request: ConversationRequest;
  readonly losses: Losses;
  readonly traits: ClaudeTraits;
}
