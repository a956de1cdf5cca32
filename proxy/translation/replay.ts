// A whole answer as the event stream of its endpoint that would have told it.
import { replayChat, replayCompletion } from '../dialects/chat/replay.ts';
import type { Operation } from '../dialects/dialect.ts';
import type { JsonObject } from '../dialects/json/json.ts';
import { replayMessage } from '../dialects/messages/replay.ts';
import { replayResponse } from '../dialects/responses/replay.ts';
import { parsedObject } from '../http/parsed-body.ts';
import type { Slices } from '../pacing/slices.ts';

/** Gives event by event. */
type Replay = (answer: JsonObject, wantsUsage: boolean) => Iterable<string> | undefined;

const replays: Readonly<Partial<Record<Operation, Replay>>> = {
  chat: replayChat,
  chat_of_input: replayChat,
  completions: replayCompletion,
  messages: replayMessage,
  responses: replayResponse,
};

/**
 * Longest stream that is made: in all, and of each byte of its answer. Events of chat repeat the head of the answer, so that many short ones
 * behind a long head would take gigabytes. Characters.
 */
export const mostTold = { all: 32 * 1024 * 1024, ofByte: 32 };
/** The number of characters that are written in one step. */
const stepLength = 256 * 1024;

/**
 * A whole answer as the bytes of a stream; undefined when it cannot be a stream, or would be too long. `wantsUsage`:
 * the client asked for the usage of its stream.
 */
export function* replayed(operation: Operation, body: Buffer, wantsUsage: boolean): Slices<Buffer | undefined> {
  const answer = yield* parsedObject(body);
  const events = answer && replays[operation]?.(answer, wantsUsage);
  if (events === undefined) return undefined;
  const most = Math.min(mostTold.all, mostTold.ofByte * body.length);
  const written: Buffer[] = [];
  let text = '';
  let length = 0;
  for (const event of events) {
    text += event;
    length += event.length;
    if (length > most) return undefined;
    if (text.length < stepLength) continue;
    written.push(Buffer.from(text));
    text = '';
    yield;
  }
  return written.length === 0 ? Buffer.from(text) : Buffer.concat([...written, Buffer.from(text)]);
}

/** The events of a whole answer; without usage where the answer has none, because not every provider reports it. */
export function* streamOf(operation: Operation, body: Buffer, wantsUsage: boolean): Slices<Buffer | undefined> {
  const told = yield* replayed(operation, body, wantsUsage);
  return told ?? (wantsUsage ? yield* replayed(operation, body, false) : undefined);
}
