// What a request will probably take: the tokens that it sets aside under token rules until it is over.
import type { Member } from '../bytes/scan.ts';
import type { AnswerLengths, AwaitedAnswer, Basis } from '../limits/answer-lengths.ts';
import type { ReserveTokens } from '../limits/enforcement.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Matches } from '../limits/match.ts';
import { estimateInput, estimateText } from '../tokens/estimate.ts';
import { type AskedOutput, askedOutput } from '../tokens/output-bound.ts';

/** The answer of a model that has not answered often, as far as the request does not bound it. Tokens. */
const usualTokens = 1_024;
/** Sound, film and pictures have so many bytes to a token, as tokens/media.ts estimates them. */
const mediaBytesPerToken = 500;

/** Answers in numbers have no tokens. */
const silent: ReadonlySet<string | undefined> = new Set(['embeddings', 'moderations', 'rerank']);

const nothingAsked: AskedOutput = { mostTokens: undefined, choices: 1 };

/** The share of answers that were not longer than what is set aside. */
const shares: Readonly<Record<Exclude<ReserveTokens, 'none'>, number>> = { p50: 0.5, p90: 0.9, max: 1 };

/** The request, as far as it has come. */
export interface ExpectedOf {
  readonly operation: string | undefined;
  /** Its body with the members of its top level, none where that is no JSON object; undefined: it is still coming. */
  readonly body: { readonly body: Buffer; readonly members: readonly Member[] } | undefined;
  /** The announced length of a body that is still coming, in bytes, and whether it is a text. */
  readonly length?: number;
  readonly isText?: boolean;
  /** Who asks: answers are remembered by it. */
  readonly consumer: string;
}

/** A place that is asked. */
export interface Answering {
  readonly upstream: { readonly name: string };
  readonly model: string;
}

/** The answer of one target that is expected. */
interface ExpectedAnswer {
  readonly tokens: number;
  readonly basis: Basis;
  /** Undefined: nothing is learned of it. */
  readonly awaited: AwaitedAnswer | undefined;
}

/** What one request will probably take at each target. Nothing is read before a token rule needs it; each figure stays until the end. */
export class Expected {
  readonly #asked: ExpectedOf;
  readonly #lengths: AnswerLengths;
  readonly #reserve: Exclude<ReserveTokens, 'none'>;
  #output: AskedOutput | undefined;
  #answers: Map<string, ExpectedAnswer> | undefined;
  #prompt: number | undefined;

  constructor(asked: ExpectedOf, lengths: AnswerLengths, reserve: Exclude<ReserveTokens, 'none'>) {
    this.#asked = asked;
    this.#lengths = lengths;
    this.#reserve = reserve;
  }

  /** The tokens at a target: prompt and answer, at least 1. */
  at(target: Answering): number {
    return Math.max(1, this.promptTokens + this.outputAt(target).tokens);
  }

  /** The tokens of the prompt, estimated. */
  get promptTokens(): number {
    this.#prompt ??= promptOf(this.#asked);
    return this.#prompt;
  }

  /** The most output tokens that a target may give: as the request bounds them, else as expected. */
  mostOutputAt(target: Answering): number {
    if (silent.has(this.#asked.operation)) return 0;
    return this.#bound ?? this.outputAt(target).tokens;
  }

  /** As the request says it; undefined: it does not. */
  get #bound(): number | undefined {
    const { mostTokens, choices } = this.#askedOutput;
    return mostTokens === undefined ? undefined : mostTokens * choices;
  }

  get #askedOutput(): AskedOutput {
    const { body } = this.#asked;
    this.#output ??= body === undefined ? nothingAsked : askedOutput(body.body, body.members);
    return this.#output;
  }

  /** The most tokens at one of these targets; 0 without any. */
  most(targets: readonly Answering[]): number {
    return targets.reduce((most, target) => Math.max(most, this.at(target)), 0);
  }

  /** The output tokens at a target, and how they are known. */
  outputAt({ upstream, model }: Answering): { readonly tokens: number; readonly basis: Basis } {
    const name = nameOf(upstream.name, model);
    this.#answers ??= new Map();
    let found = this.#answers.get(name);
    if (found === undefined) {
      found = this.#expect(name);
      this.#answers.set(name, found);
    }
    return found;
  }

  /** The request is over. `outputTokens`: of the answer of `from`, as its provider reported them; undefined: nothing is learned. */
  end(from?: Answering, outputTokens?: number): void {
    if (this.#answers === undefined) return;
    const answered = from && nameOf(from.upstream.name, from.model);
    for (const [name, { awaited }] of this.#answers) awaited?.end(name === answered ? outputTokens : undefined);
    this.#answers = undefined;
  }

  #expect(name: string): ExpectedAnswer {
    const { operation, consumer } = this.#asked;
    if (silent.has(operation)) return { tokens: 0, basis: 'asked', awaited: undefined };
    const bound = this.#bound;
    const awaited = this.#lengths.begin(name, consumer, shares[this.#reserve]);
    if (this.#reserve === 'max' && bound !== undefined) return { tokens: bound, basis: 'asked', awaited };
    const tokens = awaited.quantile ?? usualTokens * this.#askedOutput.choices;
    if (bound !== undefined && bound <= tokens) return { tokens: bound, basis: 'asked', awaited };
    return { tokens, basis: awaited.quantile === undefined ? 'usual' : 'learned', awaited };
  }
}

/** What a request will probably take; undefined: nothing is set aside. */
export function expectedOf(asked: ExpectedOf, { lengths, reserveTokens }: Limiter): Expected | undefined {
  return reserveTokens === 'none' ? undefined : new Expected(asked, lengths, reserveTokens);
}

/** The tokens that a request sets aside under the rules of a target; 0: none of them counts tokens, or nothing is set aside. */
export function wantedAt(
  target: Answering,
  matches: Matches,
  expected: Expected | undefined,
  limiter: Pick<Limiter, 'countsTokens'>,
): number {
  return expected === undefined || !limiter.countsTokens(matches) ? 0 : expected.at(target);
}

function nameOf(provider: string, model: string): string {
  return `${provider}/${model}`;
}

function promptOf({ body, length = 0, isText = true }: ExpectedOf): number {
  if (body !== undefined) return estimateInput(body.body, body.members);
  return isText ? estimateText(length, 0) : Math.ceil(length / mediaBytesPerToken);
}
