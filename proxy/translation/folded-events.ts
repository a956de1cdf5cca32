// The answer that the events of a whole stream tell.
import type { ConversationAnswer } from '../dialects/conversation/conversation.ts';
import { AnswerFold } from '../dialects/conversation/fold-events.ts';
import { ServerEventSplitter } from '../dialects/server-events.ts';
import { type EventReader, type EventSplitter, InvalidAnswer } from '../dialects/translation.ts';
import type { Slices } from '../pacing/slices.ts';

/** How events are read. */
export interface ReadEvents {
  eventReader(): EventReader;
  /** Absent: server-sent events. */
  eventSplitter?(): EventSplitter;
}

/** The number of bytes that are read in one step. */
const stepBytes = 64 * 1024;

/** Throws an InvalidAnswer, also where the stream tells of an error, or is not complete. */
export function* foldedEvents(events: Buffer, provider: ReadEvents): Slices<ConversationAnswer> {
  const splitter = provider.eventSplitter?.() ?? new ServerEventSplitter();
  const reader = provider.eventReader();
  const fold = new AnswerFold();
  for (let from = 0; from < events.length; from += stepBytes) {
    if (from > 0) yield;
    const raw = splitter.push(events.subarray(from, from + stepBytes));
    for (const event of raw.flatMap((each) => reader.read(each))) fold.add(event);
  }
  for (const event of splitter.end().flatMap((each) => reader.read(each))) fold.add(event);
  for (const event of reader.end()) fold.add(event);
  if (fold.failure !== undefined) throw new InvalidAnswer(`its stream tells of an error: ${fold.failure.message}`);
  if (!fold.isFinished) throw new InvalidAnswer('its stream is not complete');
  return fold.answer();
}
