// Of several calls of tools at once the first one alone: for clients that take no more, whatever their target can be told.
import type { ConversationAnswer } from '../dialects/conversation/conversation.ts';
import type { OpenedPart, StreamEvent } from '../dialects/conversation/stream-event.ts';
import type { EventReader } from '../dialects/translation.ts';

/** The answer with one call at most. */
export function withOneCall(answer: ConversationAnswer): ConversationAnswer {
  const first = answer.parts.findIndex(({ kind }) => kind === 'tool_call');
  if (first === -1) return answer;
  return { ...answer, parts: answer.parts.filter(({ kind }, index) => kind !== 'tool_call' || index === first) };
}

/** Keeps only the first tool call in the events of a stream. */
export function oneCallReader(reader: EventReader): EventReader {
  let hasCall = false;
  let left = 0;
  let leftOut: number | undefined;
  const told = (event: StreamEvent): readonly StreamEvent[] => {
    if (!('index' in event)) return [event];
    if (event.kind === 'opened' && isCall(event.part)) {
      if (hasCall) {
        leftOut = event.index;
        left += 1;
      }
      hasCall = true;
    }
    if (event.index === leftOut) return [];
    return [left === 0 ? event : { ...event, index: event.index - left }];
  };
  return { read: (raw) => reader.read(raw).flatMap(told), end: () => reader.end().flatMap(told) };
}

function isCall(part: OpenedPart): boolean {
  return part.kind === 'tool_call' || (part.kind === 'whole' && part.part.kind === 'tool_call');
}
