// What a request will probably take: the tokens that it sets aside under token rules until it is over.
import type { Member } from '../bytes/scan.ts';
import type { AnswerLengths, Basis } from '../limits/answer-lengths.ts';
import type { ReserveTokens } from '../limits/enforcement.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Matches } from '../limits/match.ts';
import { estimateInput, estimateText } from '../tokens/estimate.ts';
import { askedOutput } from '../tokens/output-bound.ts';

/** The answer of a model that has not answered often, as far as the request does not bound it. Tokens. */
const usualTokens = 1_024;
/** Sound, film and pictures have so many bytes to a token, as tokens/media.ts estimates them. */
const mediaBytesPerToken = 500;

/** Answers in numbers have no tokens. */
const silent: ReadonlySet<string | undefined> = new Set(['embeddings', 'moderations', 'rerank']);

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

/** What one request will probably take at each target. Nothing is read before a token rule needs it. */
export class Expected {
  readonly #asked: ExpectedOf;
  readonly #lengths: AnswerLengths;
  readonly #reserve: Exclude<ReserveTokens, 'none'>;
  #prompt: number | undefined;
  #bound: ReturnType<typeof askedOutput> | undefined;

  constructor(asked: ExpectedOf, lengths: AnswerLengths, reserve: Exclude<ReserveTokens, 'none'>) {
    this.#asked = asked;
    this.#lengths = lengths;
    this.#reserve = reserve;
  }

  /** The tokens at a target: prompt and answer, at least 1. */
  at(target: Answering): number {
    this.#prompt ??= promptOf(this.#asked);
    return Math.max(1, this.#prompt + this.outputAt(target).tokens);
  }

  /** The most tokens at one of these targets; 0 without any. */
  most(targets: readonly Answering[]): number {
    return targets.reduce((most, target) => Math.max(most, this.at(target)), 0);
  }

  /** The output tokens at a target, and how they are known. */
  outputAt({ upstream, model }: Answering): { readonly tokens: number; readonly basis: Basis } {
    const { operation, body, consumer } = this.#asked;
    if (silent.has(operation)) return { tokens: 0, basis: 'asked' };
    this.#bound ??= body === undefined ? { mostTokens: undefined, choices: 1 } : askedOutput(body.body, body.members);
    const { mostTokens, choices } = this.#bound;
    const bound = mostTokens === undefined ? undefined : mostTokens * choices;
    if (this.#reserve === 'max' && bound !== undefined) return { tokens: bound, basis: 'asked' };
    const learned = this.#lengths.quantile(nameOf(upstream.name, model), consumer, shares[this.#reserve]);
    const tokens = learned ?? usualTokens * choices;
    if (bound !== undefined && bound <= tokens) return { tokens: bound, basis: 'asked' };
    return { tokens, basis: learned === undefined ? 'usual' : 'learned' };
  }

  /** An answer of so many output tokens came of it, as the provider of the target reported them. */
  learn({ upstream, model }: Answering, outputTokens: number): void {
    if (silent.has(this.#asked.operation)) return;
    this.#lengths.note(nameOf(upstream.name, model), this.#asked.consumer, outputTokens);
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
  if (body !== undefined) return estimateInput(body.body);
  return isText ? estimateText(length, 0) : Math.ceil(length / mediaBytesPerToken);
}
