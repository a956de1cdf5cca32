// A kept answer as an event stream of its endpoint.
import { replayChat, replayCompletion } from '../dialects/chat/replay.ts';
import type { Operation } from '../dialects/dialect.ts';
import { type JsonObject, parseObject } from '../dialects/json.ts';
import { replayMessage } from '../dialects/messages/replay.ts';
import { replayResponse } from '../dialects/responses/replay.ts';

type Replay = (answer: JsonObject, wantsUsage: boolean) => string | undefined;

const replays: Readonly<Partial<Record<Operation, Replay>>> = {
  chat: replayChat,
  chat_of_input: replayChat,
  completions: replayCompletion,
  messages: replayMessage,
  responses: replayResponse,
};

/** Undefined: it cannot be told so. `wantsUsage`: the client asked for the usage of its stream. */
export function replayed(operation: Operation, body: Buffer, wantsUsage: boolean): string | undefined {
  const answer = parseObject(body.toString('utf8'));
  return answer && replays[operation]?.(answer, wantsUsage);
}
