// Instructions in the middle of a conversation, for dialects that have none there: they become words of the user where they stand, because
// moved to the beginning they would change all that a cache holds of the conversation.
import type { ConversationRequest, Turn } from './conversation.ts';
import type { Part } from './parts.ts';

/** The user text that opens a conversation which begins with the model, or is empty. */
export const opening = 'Begin.';

/** The user text that ends a conversation which ends with the model, for a target that does not continue an answer. */
export const goOn = 'Continue.';

export interface PlacedInstructions {
  /** Before the first turn: the instructions of the request, and turns of the system that lead. */
  readonly leading: readonly Part[];
  /** Of the user and the assistant, and those of the system that stay. */
  readonly turns: readonly Turn[];
}

/** `stays`: the turn of the system at this index may stay one. Absent: none may. */
export function placeInstructions(
  { system, turns }: Pick<ConversationRequest, 'system' | 'turns'>,
  stays: (index: number) => boolean = () => false,
): PlacedInstructions {
  if (turns.every(({ role }) => role !== 'system')) return { leading: system, turns };
  const first = turns.findIndex(({ role }, index) => role !== 'system' || stays(index));
  const leads = first === -1 ? turns.length : first;
  const leading = [...system, ...turns.slice(0, leads).flatMap(({ parts }) => parts)];
  const placed = turns.slice(leads).map((turn, index): Turn => {
    return turn.role === 'system' && !stays(leads + index) ? { ...turn, role: 'user' } : turn;
  });
  return { leading, turns: placed };
}
