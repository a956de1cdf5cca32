// The words of an answer, as far as they are compared by their meaning. What is held meanwhile counts as a recorded body does.
import type { Answer, Tap } from '../../answer.ts';
import { BodyCapture } from '../../capture/body-capture.ts';
import type { CaptureBudget } from '../../capture/capture-budget.ts';
import type { Operation } from '../../dialects/dialect.ts';
import { parseObject } from '../../dialects/json/json.ts';
import { textsOf } from '../../guardrails/texts-of.ts';

/** A longer answer is not compared. Bytes. */
const mostBytes = 64 * 1024;
/** Models of embeddings read some 8,000 tokens. Characters. */
const longestText = 16_384;

export class AnswerText {
  readonly #capture: BodyCapture;
  readonly #operation: Operation;

  constructor(captures: CaptureBudget, operation: Operation) {
    this.#capture = new BodyCapture(captures, mostBytes);
    this.#operation = operation;
  }

  tapOf(answer: Answer): Tap {
    return this.#capture.tapOf(answer, this.#operation);
  }

  /** What is said, and the arguments of tools; undefined: nothing, not all of it is there, or it is too long. */
  read(model: string, nowMs: number): string | undefined {
    const { json, isTooBig } = this.#capture.answer({ model, nowMs, secrets: [], isObject: false });
    const answer = json === undefined || isTooBig ? undefined : parseObject(json);
    const texts = answer && textsOf[this.#operation]?.answer?.(answer).texts;
    const said = texts?.filter(({ form }) => form === 'text' || form === 'json').map(({ text }) => text);
    const text = said?.join('\n') ?? '';
    return text.trim() === '' || text.length > longestText ? undefined : text;
  }

  /** Gives the memory back. Again does nothing. */
  release(): void {
    this.#capture.release();
  }
}
