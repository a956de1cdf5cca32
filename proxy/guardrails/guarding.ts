// The guardrails of one request at work: on the request, and on its answer.
import type { Failure } from '../answer.ts';
import { saysTokens } from '../dialects/completions/request-texts.ts';
import type { EditableObject } from '../dialects/editing.ts';
import { type JsonValue, parseJson, writeJson } from '../dialects/json/json.ts';
import type { EditableText, RequestTexts, TextForm } from '../dialects/texts.ts';
import { refusal } from '../errors.ts';
import { atOnce, inSlices, type Slices } from '../pacing/slices.ts';
import { Chain, guardedStages } from './chain.ts';
import { type Flow, settled } from './flow.ts';
import { findTaken, requestValues, shortBytes, writtenValues } from './guarded-values.ts';
import type { CheckContext, Checks, Finding, Guardrail, Phase, Verdict } from './guardrail.ts';
import { Masks } from './masks.ts';
import type { Outside } from './outside.ts';
import { PutBack } from './put-back.ts';
import { type Revised, type RevisionRoom, Revisions } from './revisions.ts';
import { type GuardedOperation, type OperationTexts, textsOf } from './texts-of.ts';
import { Verdicts } from './verdicts.ts';

export type { GuardedOperation } from './texts-of.ts';

/** Whose request it is. */
export interface GuardedCaller {
  readonly requestId: string;
  readonly userPath: string;
  /** As the client asks for it. */
  readonly model: string;
  /** The services and models that guardrails may ask for it; absent: none. */
  readonly outside?: Outside | undefined;
  /** The memory for revised bodies, for the record; absent: none. */
  readonly room?: RevisionRoom | undefined;
}

/** Placeholders of a conversation that a provider keeps are not known: new ones have other numbers. */
const mostNumber = 1_000_000;

export class Guarding {
  readonly guardrails: readonly Guardrail[];
  readonly texts: OperationTexts;
  /** Members of the request that were taken out of it. */
  leftOut: readonly string[] = [];
  readonly #caller: GuardedCaller;
  readonly #verdicts = new Verdicts();
  readonly #revisions: Revisions;
  #masks = new Masks();
  /** The system prompt of the client, where an answer repeats it and the request was changed. */
  #repeated: { readonly said: JsonValue } | undefined;

  /** `guardrails`: those that hold for the request, in their order. */
  constructor(guardrails: readonly Guardrail[], caller: GuardedCaller, operation: GuardedOperation) {
    this.guardrails = guardrails;
    this.#caller = caller;
    this.#revisions = new Revisions(caller.room);
    this.texts = textsOf[operation] ?? { request: () => nothingSaid };
  }

  get findings(): readonly Finding[] {
    return this.#verdicts.all;
  }

  /** The revisions of the request, in order. */
  get revisions(): readonly Revised[] {
    return this.#revisions.all;
  }

  /** The guardrail that refuses, and why; undefined: none does. */
  get blockedBy(): string | undefined {
    return this.#verdicts.refused?.reason;
  }

  /** The failure with the code of the refusal. */
  get refused(): Failure | undefined {
    return this.#verdicts.refused;
  }

  /** The answer must be read: a guardrail looks at it, something is put back, or it repeats what was changed. */
  get readsAnswer(): boolean {
    if (this.texts.answer === undefined) return false;
    return this.puttingBack !== undefined || this.checksAnswer;
  }

  /** A guardrail looks at the answer. */
  get checksAnswer(): boolean {
    return this.texts.answer !== undefined && this.guardrails.some(({ output }) => output !== undefined);
  }

  /** A guardrail may change or refuse the answer. */
  get changesAnswer(): boolean {
    return this.guardrails.some(({ mode, output }) => mode === 'enforce' && output !== undefined);
  }

  /** The texts that are put back into the client's answer; undefined: none. */
  get puttingBack(): PutBack | undefined {
    const { repeats } = this.texts;
    const repeated = repeats === undefined || this.#repeated === undefined ? undefined : { repeats, ...this.#repeated };
    if (repeated === undefined && this.#masks.size === 0) return undefined;
    return new PutBack(this.context('output'), repeated);
  }

  context(phase: Phase): CheckContext {
    return { ...this.#caller, phase, masks: this.#masks };
  }

  /** A guardrail in shadow masks nothing, so it gets masks of its own. */
  #contextOf({ mode }: Guardrail): CheckContext {
    const context = this.context('input');
    return mode === 'shadow' ? { ...context, masks: new Masks() } : context;
  }

  /**
   * The body as the guardrails leave it; the same bytes when none changes it. Throws 400 `guardrail_blocked`, and 403
   * `guardrails_prevent_endpoint` for words that are written as numbers.
   */
  *onRequest(bytes: Buffer): Flow<Buffer> {
    const checking = this.guardrails.filter(({ input }) => input !== undefined);
    if (checking.length === 0) return bytes;
    const body = yield* requestValues(bytes);
    if (saysTokens(body) && checking.some(({ mode, input }) => mode === 'enforce' && input?.request === undefined))
      throw refusal('guardrails_prevent_endpoint', { fill: { what: 'words that are written as numbers of tokens' } });
    const isGoingOn = Boolean(body['previous_response_id'] ?? body['conversation']);
    const first = isGoingOn ? Math.floor(Math.random() * mostNumber) : 0;
    this.#masks = new Masks(yield* findTaken(bytes), first);
    // A long one is read once more instead, if it is changed at all.
    const repeated = bytes.length <= shortBytes ? this.#repeatedIn(body, true) : undefined;
    const request = this.texts.request(body);
    let current = bytes;
    try {
      for (const guardrail of checking) {
        const verdict = yield* this.#checkRequest(guardrail, request, bytes.length > shortBytes);
        this.#verdicts.note(guardrail, 'input', verdict);
        if (guardrail.mode === 'shadow') continue;
        const before = current;
        if (verdict.outcome === 'revise') {
          current = yield* writtenValues(body, bytes.length);
          this.leftOut = [...this.leftOut, ...(verdict.leftOut ?? [])];
        }
        this.#revisions.note(guardrail, verdict, before, current);
      }
    } catch (error) {
      this.#revisions.forgetMade();
      throw error;
    }
    this.#masks.release();
    if (current === bytes) return bytes;
    const isKnown = repeated !== undefined || this.texts.repeats === undefined;
    this.#repeated = isKnown ? repeated : this.#repeatedIn(yield* requestValues(bytes), false);
    return current;
  }

  /** `isChanged`: the body is changed later. */
  #repeatedIn(body: EditableObject, isChanged: boolean): { readonly said: JsonValue } | undefined {
    const { repeats } = this.texts;
    if (repeats === undefined) return undefined;
    const said = body[repeats] ?? null;
    return { said: typeof said === 'string' || !isChanged ? said : parseJson(writeJson(said)) };
  }

  *#checkRequest(guardrail: Guardrail, request: RequestTexts, isLong: boolean): Flow<Verdict> {
    const { input, mode, roles } = guardrail;
    const context = this.#contextOf(guardrail);
    if (input?.request !== undefined) {
      return yield* settled(input.request(mode === 'shadow' ? unchanging(request) : request, context));
    }
    const texts = request.texts.filter(({ role }) => roles.has(role));
    return yield* checkTexts(input, texts, context, { isEnforced: mode === 'enforce', isLong });
  }

  /** Checks and changes an answer where it stands. False: it is as it was. Throws 400 `guardrail_blocked`. */
  *onAnswer(body: EditableObject, isLong: boolean = false): Flow<boolean> {
    const { answer } = this.texts;
    if (answer === undefined) return false;
    return yield* this.onTexts(answer(body).texts, isLong);
  }

  /** Checks the texts of an answer. `isLong`: they may be long. */
  *onTexts(texts: readonly EditableText[], isLong: boolean = false): Flow<boolean> {
    let isChanged = false;
    for (const guardrail of this.guardrails) {
      const { output, mode } = guardrail;
      if (output === undefined) continue;
      const isEnforced = mode === 'enforce';
      const verdict = yield* checkTexts(output, texts, this.context('output'), { isEnforced, isLong });
      this.note(guardrail, verdict);
      isChanged ||= mode === 'enforce' && verdict.outcome === 'revise';
    }
    return isChanged;
  }

  /** Notes what a guardrail says of an answer. Throws 400 `guardrail_blocked`. */
  note(guardrail: Guardrail, verdict: Verdict): void {
    this.#verdicts.note(guardrail, 'output', verdict);
  }

  /** Of a text of a streamed answer. */
  chain(form: TextForm): Chain {
    const note = (guardrail: Guardrail, verdict: Verdict): void => this.note(guardrail, verdict);
    return new Chain(guardedStages(this.guardrails, form, this.context('output'), note));
  }

  /** Nothing: an answer repeats the system prompt that it was given. */
  repeatAsked(_answer: EditableObject | undefined): boolean {
    return false;
  }
}

/** Of an operation that says nothing in words. */
const nothingSaid: RequestTexts = {
  texts: [],
  tools: [],
  maxTokens: 0,
  capTokens: () => [],
  say: () => false,
};

/** Asks a guardrail about texts, and makes its changes where they stand if it is enforced. */
function* checkTexts(
  checks: Checks | undefined,
  texts: readonly EditableText[],
  context: CheckContext,
  { isEnforced, isLong }: { readonly isEnforced: boolean; readonly isLong: boolean },
): Flow<Verdict> {
  if (checks?.texts === undefined) return { outcome: 'pass' };
  if (isLong) yield* settled(inSlices(writing(texts)));
  const verdict = yield* settled(checks.texts(texts, context));
  if (verdict.outcome !== 'revise' || !isEnforced) return verdict;
  const replaced = replacing(texts, verdict.texts ?? [], isLong);
  if (isLong) yield* settled(inSlices(replaced));
  else atOnce(replaced);
  return verdict;
}

/** Texts that are written or replaced in one step, where they are short. */
const stepTexts = 1_000;

function* writing(texts: readonly EditableText[]): Slices<void> {
  for (const [index, text] of texts.entries()) {
    if (index % stepTexts === stepTexts - 1) yield;
    if (text.writing !== undefined) yield* text.writing();
  }
}

function* replacing(texts: readonly EditableText[], words: readonly string[], isLong: boolean): Slices<void> {
  for (const [index, text] of texts.entries()) {
    const given = words[index] ?? text.text;
    if (isLong && index % stepTexts === stepTexts - 1) yield;
    if (given === text.text) continue;
    if (isLong && text.replacing !== undefined) yield* text.replacing(given);
    else text.replace(given);
  }
}

/** The request for a guardrail that must not change it. */
function unchanging(request: RequestTexts): RequestTexts {
  const { texts, tools, maxTokens } = request;
  return { texts, tools, maxTokens, capTokens: () => [], say: () => true };
}
