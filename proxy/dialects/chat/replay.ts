// A whole answer of chat or of text completions as the stream that would have told it: each choice in one piece, then its end.
import { isObject, type JsonObject, listOf, objectOf, writeJson } from '../json/json.ts';

/**
 * A whole answer as the events of a stream, one by one. `wantsUsage`: the client asked for the usage of its stream.
 * Undefined when the answer has no usage but the client wants it.
 */
export function replayChat(answer: JsonObject, wantsUsage: boolean): Iterable<string> | undefined {
  return replay({ ...answer, object: 'chat.completion.chunk' }, wantsUsage, ({ message, logprobs = null }) => [
    { delta: deltaOf(objectOf(message) ?? {}), logprobs },
    { delta: {}, logprobs: null },
  ]);
}

/** `replayChat` for a text completion. */
export function replayCompletion(answer: JsonObject, wantsUsage: boolean): Iterable<string> | undefined {
  return replay(answer, wantsUsage, ({ text = '', logprobs = null }) => [
    { text, logprobs },
    { text: '', logprobs: null },
  ]);
}

/** The two chunks of a choice: its content, then its end. */
type Pieces = (choice: JsonObject) => readonly [said: JsonObject, ended: JsonObject];

function replay(answer: JsonObject, wantsUsage: boolean, piecesOf: Pieces): Iterable<string> | undefined {
  return wantsUsage && !isObject(answer['usage']) ? undefined : eventsOf(answer, wantsUsage, piecesOf);
}

function* eventsOf(answer: JsonObject, wantsUsage: boolean, piecesOf: Pieces): Generator<string, void, undefined> {
  const { choices, usage, ...head } = answer;
  const beside = wantsUsage ? { usage: null } : {};
  for (const [place, choice] of (listOf(choices) ?? []).filter(isObject).entries()) {
    const { index = place, finish_reason } = choice;
    const [said, ended] = piecesOf(choice);
    yield eventOf({ ...head, choices: [{ index, ...said, finish_reason: null }], ...beside });
    yield eventOf({ ...head, choices: [{ index, ...ended, finish_reason }], ...beside });
  }
  if (wantsUsage) yield eventOf({ ...head, choices: [], usage });
  yield 'data: [DONE]\n\n';
}

/** Calls are numbered in a stream, because they come in pieces. */
function deltaOf(message: JsonObject): JsonObject {
  const calls = listOf(message['tool_calls'])?.filter(isObject);
  return calls === undefined ? message : { ...message, tool_calls: calls.map((call, index) => ({ index, ...call })) };
}

function eventOf(chunk: JsonObject): string {
  return `data: ${writeJson(chunk)}\n\n`;
}
