// The tap that reads how an answer calls itself: its id, for the record of its usage, and its model, for traces. Nothing is changed, and
// nothing else is read.
import type { Answer, Failure, Sink, Tap } from '../../answer.ts';
import { dataOf, firstEventEnd } from '../../bytes/events.ts';
import { type Member, scanObject } from '../../bytes/scan.ts';
import { spells } from '../../bytes/spells.ts';
import { readString } from '../../call/call.ts';
import type { AnswerNames } from '../../call/trace-context.ts';
import { passableId } from '../../providers/upstream-id.ts';

/** Longest body that is read, and longest beginning of a stream that is held for it. Bytes. */
const longestBody = 64 * 1024;
const longestStart = 16 * 1024;
/** Events without names may come first: those of filters, and comments. */
const mostEvents = 8;

const noBytes: Buffer = Buffer.alloc(0);
const nothing: AnswerNames = { id: undefined, model: undefined };
/** In Chat Completions, Responses and Messages, and in Gemini's format. */
const idKeys = ['id', 'responseId'];
const modelKeys = ['model', 'modelVersion'];
/** Where the first event of a stream has them: of Messages, of Responses. */
const wrappers = ['message', 'response'];

/** The trip that gets the names. */
export interface Named {
  answer?: AnswerNames | undefined;
  /** Only the id is of interest. */
  readonly needsOnlyId?: boolean;
}

export class AnswerNamesTap implements Tap {
  readonly #answer: Answer;
  readonly #named: Named;
  readonly #secrets: readonly string[];
  #events = 0;
  #held = noBytes;
  #isDone = false;

  /** `named` gets the names. `secrets`: what must be in none. */
  constructor(answer: Answer, named: Named, secrets: readonly string[]) {
    this.#answer = answer;
    this.#named = named;
    this.#secrets = secrets;
  }

  whole(body: Buffer): Buffer {
    if (this.#isDone) return body;
    if (this.#answer.stream) this.#push(body);
    else if (body.length <= longestBody) this.#take(this.#namesIn(body));
    return body;
  }

  open(next: Sink): Sink {
    if (this.#isDone || !this.#answer.stream) return next;
    return {
      write: (chunk: Buffer): boolean => {
        if (!this.#isDone) this.#push(chunk);
        return next.write(chunk);
      },
      end: (failure: Failure | undefined) => next.end(failure),
    };
  }

  awaitsMore(): boolean {
    return false;
  }

  /** Bytes of a stream. What does not end in them is copied, because their memory is the next tap's. */
  #push(chunk: Buffer): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (let end = firstEventEnd(rest, 0); end > 0 && !this.#isDone; end = firstEventEnd(rest, 0)) {
      this.#take(this.#namesIn(Buffer.from(dataOf(rest.subarray(0, end)))));
      this.#events += 1;
      rest = rest.subarray(end);
      if (this.#events === mostEvents) this.#isDone = true;
    }
    if (rest.length > longestStart) this.#isDone = true;
    this.#held = this.#isDone ? noBytes : Buffer.from(rest);
  }

  #namesIn(json: Buffer): AnswerNames {
    const id = this.#named.needsOnlyId === true ? firstId(json) : undefined;
    return id === undefined ? namesIn(json) : { id, model: undefined };
  }

  #take({ id, model }: AnswerNames): void {
    const names = { id: passableId(id, this.#secrets), model: passableId(model, this.#secrets) };
    if (names.id === undefined && names.model === undefined) return;
    this.#named.answer = names;
    this.#isDone = true;
  }
}

/** The id of an object that begins with it, as most answers do; undefined: it does not. */
function firstId(json: Buffer): string | undefined {
  if (!spells(json, 0, '{"id":"')) return undefined;
  const end = json.indexOf(0x22, 7);
  const id = json.toString('latin1', 7, Math.max(7, end));
  return id === '' || id.includes('\\') ? undefined : id;
}

/** The names at the top of a JSON object, or in the object that is wrapped in it. */
function namesIn(json: Buffer): AnswerNames {
  let members: readonly Member[];
  try {
    members = scanObject(json);
  } catch {
    return nothing;
  }
  const memberOf = (keys: readonly string[]): Member | undefined =>
    members.find(({ keyStart, keyEnd }) => keys.includes(json.toString('latin1', keyStart, keyEnd)));
  const wrapped = memberOf(wrappers);
  if (wrapped !== undefined) return namesIn(json.subarray(wrapped.valueStart, wrapped.valueEnd));
  const readMember = (member: Member | undefined): string | undefined => member && readString(json, member);
  return { id: readMember(memberOf(idKeys)), model: readMember(memberOf(modelKeys)) };
}
