// Stage 7, its end: a relayed answer in the form that was asked for, where its provider gave it in the other one. A whole answer becomes the
// stream that would have told it, and a stream the answer that it tells.
import { type Answer, wholeAnswer } from '../answer.ts';
import { foldFor } from '../capture/folds.ts';
import { StreamCapture } from '../capture/stream-capture.ts';
import { writeJson } from '../dialects/json/json.ts';
import { TooManyValues } from '../dialects/json/read-json.ts';
import { InvalidAnswer } from '../dialects/translation.ts';
import { atOnce, inSlices, type Slices } from '../pacing/slices.ts';
import type { Relayed } from '../providers/dialects.ts';
import { foldedEvents } from '../translation/folded-events.ts';
import { streamOf } from '../translation/replay.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import type { RoutedCall } from './attempts.ts';

/** An answer that came in the other form. */
interface Odd {
  readonly answer: UpstreamAnswer;
  readonly routed: Pick<RoutedCall, 'operation' | 'call'>;
  readonly relayed: Pick<Relayed, 'eventReader'>;
  /** The usage of a stream was asked for by the gateway alone. */
  readonly injectedUsage: boolean;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

/** Most of an answer that is made of events, beside what they say. Bytes. */
const roomBytes = 16 * 1024;
/** Events of a stream that are read before other work may run: they take a few milliseconds. Bytes. */
const sliceBytes = 64 * 1024;
const streamHead = { contentType: 'text/event-stream; charset=utf-8', stream: true } as const;

/** Whether an answer of success has the form that was not asked for. */
export function isOdd({ status, stream, head }: UpstreamAnswer, wantsStream: boolean): boolean {
  return status >= 200 && status < 300 && (wantsStream ? !stream : head.heldEvents);
}

/** The answer in the form that was asked for; undefined: its operation has no streams, and it passes as it is. */
export function reframedOf(odd: Odd): Reframed | undefined {
  return odd.relayed.eventReader === undefined ? undefined : new Reframed(odd);
}

export class Reframed {
  /** The answer as it was asked for; undefined: it was not made yet, or cannot be. */
  answer: Answer | undefined;
  readonly #work: Slices<Answer | undefined>;
  #error: unknown;
  #isMade = false;

  constructor(odd: Odd) {
    this.#work = reframing(odd);
  }

  /** Makes a long one before it is asked about, in steps. */
  async makeLong(): Promise<void> {
    this.#isMade = true;
    try {
      this.answer = await inSlices(this.#work);
    } catch (error) {
      this.#error = error;
    }
  }

  /** Makes it. Gives why that is not possible, as a clause in the provider's words, secrets included; undefined: it is. */
  problem(): string | undefined {
    if (!this.#isMade) this.#make();
    if (this.answer !== undefined) return undefined;
    const error = this.#error;
    if (error === undefined) return 'it is neither what was asked for nor can be made so';
    if (error instanceof InvalidAnswer || error instanceof TooManyValues) return error.message;
    throw error;
  }

  #make(): void {
    this.#isMade = true;
    try {
      this.answer = atOnce(this.#work);
    } catch (error) {
      this.#error = error;
    }
  }
}

/** Undefined: the answer has no other form. Throws an InvalidAnswer. */
function* reframing({ answer, routed, relayed, injectedUsage, nowMs }: Odd): Slices<Answer | undefined> {
  const { operation, call } = routed;
  if (!answer.complete) return undefined;
  const body = answer.body();
  if (call.stream) {
    const events = yield* streamOf(operation, body, call.wantsUsage || injectedUsage);
    return events && wholeAnswer(events, streamHead);
  }
  const fold = foldFor(operation);
  const { eventReader } = relayed;
  if (fold === undefined || eventReader === undefined) return undefined;
  // It is read twice: whether it is complete, and with every member that the provider's words have.
  yield* foldedEvents(body, { eventReader });
  const capture = new StreamCapture(fold, 2 * body.length + roomBytes);
  for (let from = 0; from < body.length; from += sliceBytes) {
    capture.push(body.subarray(from, from + sliceBytes));
    yield;
  }
  const made = capture.answer({ requestBody: call.body, model: call.model, nowMs: nowMs() });
  return made === undefined || capture.isCut ? undefined : wholeAnswer(Buffer.from(writeJson(made)));
}
