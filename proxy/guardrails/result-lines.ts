// The results of a batch on their way to a client: each line holds the answer to one request, and is looked at as if it had come by itself.
import { HeldBytes } from '../bytes/held-bytes.ts';
import type { Operation } from '../dialects/dialect.ts';
import { type EditableObject, editable } from '../dialects/editing.ts';
import { anthropicErrorType } from '../dialects/messages/kind-of-error.ts';
import { Refusal } from '../errors.ts';
import { type Flow, settled } from './flow.ts';
import type { Pieces } from './guarded-stream.ts';
import { answerValues, shortBytes, writtenValues } from './guarded-values.ts';
import type { Guarding } from './guarding.ts';

/** A line with its end. */
export interface ResultLine {
  readonly bytes: Buffer;
}

const newline = 0x0a;
const lineEnd = Buffer.from('\n');

/** Cuts bytes into lines, wherever chunks end. */
class LineCutter {
  readonly #held = new HeldBytes();

  get heldBytes(): number {
    return this.#held.length;
  }

  push(chunk: Buffer): readonly ResultLine[] {
    // The chunk is memory that is used again.
    const own = Buffer.from(chunk);
    const lines: ResultLine[] = [];
    let from = 0;
    for (let at = own.indexOf(newline); at !== -1; at = own.indexOf(newline, from)) {
      let end = at + 1;
      // Empty lines belong to the line before them.
      while (own[end] === newline) end += 1;
      this.#held.add(own.subarray(from, end));
      lines.push({ bytes: this.#held.take() });
      from = end;
    }
    if (from < own.length) this.#held.add(own.subarray(from));
    return lines;
  }

  end(): readonly ResultLine[] {
    return this.#held.length === 0 ? [] : [{ bytes: this.#held.take() }];
  }
}

/** `guardingOf` gives the guardrails at work on the answer to one request, in the words of an operation. */
export function resultPieces(guardingOf: (operation: Operation) => Guarding): Pieces<ResultLine> {
  return {
    cutter: new LineCutter(),
    editor: {
      length: 0,
      edit: (line) => editLine(line, guardingOf),
      end: nothingHeld,
    },
  };
}

function* nothingHeld(): Flow<readonly Buffer[]> {
  return yield* settled<readonly Buffer[]>([]);
}

/** The lines of a file that holds no results pass as they are. */
function* editLine({ bytes }: ResultLine, guardingOf: (operation: Operation) => Guarding): Flow<readonly Buffer[]> {
  const line = bytes.includes('{') ? yield* answerValues(bytes) : undefined;
  const answer = line && answerIn(line);
  if (line === undefined || answer === undefined) return [bytes];
  const guarding = guardingOf(operationOf(answer));
  try {
    return (yield* guarding.onAnswer(answer, bytes.length > shortBytes))
      ? [yield* writtenValues(line, bytes.length), lineEnd]
      : [bytes];
  } catch (error) {
    if (guarding.refused === undefined || !(error instanceof Refusal)) throw error;
    return [yield* writtenValues(refusedLine(line, error), 0), lineEnd];
  }
}

/** The answer in a line, in the form of OpenAI or of Anthropic. */
function answerIn(line: EditableObject): EditableObject | undefined {
  if (line['custom_id'] === undefined) return undefined;
  return editable(editable(line['response'])?.['body']) ?? editable(editable(line['result'])?.['message']);
}

function operationOf(answer: EditableObject): Operation {
  if (answer['output'] !== undefined) return 'responses';
  return answer['content'] === undefined ? 'chat' : 'messages';
}

/** The line of a request whose answer a guardrail refuses: it has failed. */
function refusedLine({ custom_id, id, result }: EditableObject, { code, message, status }: Refusal): EditableObject {
  if (result !== undefined) {
    const type = anthropicErrorType(status);
    return { custom_id, result: { type: 'errored', error: { type: 'error', error: { type, message } } } };
  }
  return { id, custom_id, response: null, error: { code, message } };
}
