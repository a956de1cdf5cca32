// A whole answer of chat or of text completions as the stream that would have told it: each choice in one piece, then its end.
import { isObject, type JsonObject, listOf, objectOf, writeJson } from '../json.ts';

/** `wantsUsage`: the client asked for the usage of its stream. Undefined: the answer does not tell its usage, and the client wants it. */
export function replayChat(answer: JsonObject, wantsUsage: boolean): string | undefined {
  return replay({ ...answer, object: 'chat.completion.chunk' }, wantsUsage, ({ message, logprobs = null }) => [
    { delta: deltaOf(objectOf(message) ?? {}), logprobs },
    { delta: {}, logprobs: null },
  ]);
}

/** The same of a text completion. */
export function replayCompletion(answer: JsonObject, wantsUsage: boolean): string | undefined {
  return replay(answer, wantsUsage, ({ text = '', logprobs = null }) => [
    { text, logprobs },
    { text: '', logprobs: null },
  ]);
}

/** What a choice says, and what stands beside the reason of its end. */
type Pieces = (choice: JsonObject) => readonly [said: JsonObject, ended: JsonObject];

function replay(answer: JsonObject, wantsUsage: boolean, piecesOf: Pieces): string | undefined {
  const { choices, usage, ...head } = answer;
  if (wantsUsage && !isObject(usage)) return undefined;
  const beside = wantsUsage ? { usage: null } : {};
  const chunks = (listOf(choices) ?? []).filter(isObject).flatMap((choice, place) => {
    const { index = place, finish_reason } = choice;
    const [said, ended] = piecesOf(choice);
    return [
      { index, ...said, finish_reason: null },
      { index, ...ended, finish_reason },
    ].map((piece) => eventOf({ ...head, choices: [piece], ...beside }));
  });
  const told = wantsUsage ? eventOf({ ...head, choices: [], usage }) : '';
  return `${chunks.join('')}${told}data: [DONE]\n\n`;
}

/** Calls are numbered in a stream, because they come in pieces. */
function deltaOf(message: JsonObject): JsonObject {
  const calls = listOf(message['tool_calls'])?.filter(isObject);
  return calls === undefined ? message : { ...message, tool_calls: calls.map((call, index) => ({ index, ...call })) };
}

function eventOf(chunk: JsonObject): string {
  return `data: ${writeJson(chunk)}\n\n`;
}
