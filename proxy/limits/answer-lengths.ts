// How long answers were, by model and consumer: what the next answer will probably take. Bounded, in memory, and lost with the process.
import { Recent } from './recent.ts';

/** How the length of an answer was known before it: the request bounds it, answers before it were as long, or neither. */
export type Basis = 'asked' | 'learned' | 'usual';

/** Four classes to a doubling: class 0 is one token, the last one 55,109 and more. */
const classCount = 64;
const classesPerDoubling = 4;
/** After so many answers all counts are halved, so that what was learned follows what changes. */
const mostAnswers = 2_000;
/** Fewer answers say nothing. */
const leastAnswers = 30;
/**
 * Short answers end first, so that of a burst the first answers are short ones: fewer answers for each request that is open are not trusted,
 * up to so many, which are always trusted.
 */
const answersPerOpen = 10;
const trustedAnswers = 1_000;
/** Pairs of model and consumer, and models alone: those used last are kept, at least half as many, in 512 bytes each. */
const mostHistograms = 4_096;

/** The lengths of the answers of one model to one consumer, or to all. */
class Histogram {
  readonly #counts = new Uint16Array(classCount);
  #answers = 0;
  /** Requests whose answers are still awaited. */
  open = 0;

  add(tokens: number): void {
    if (this.#answers >= mostAnswers) this.#halve();
    const place = classOf(tokens);
    this.#counts[place] = (this.#counts[place] as number) + 1;
    this.#answers += 1;
  }

  /** Whether there are answers enough to say anything. */
  get isKnown(): boolean {
    return this.#answers >= leastAnswers;
  }

  /** Whether the open requests could change much of what the answers say. */
  get isTrusted(): boolean {
    return this.isKnown && this.#answers >= Math.min(answersPerOpen * this.open, trustedAnswers);
  }

  /**
   * The length that this share of the answers did not exceed, rounded up to the end of its class. Open requests count as longer than any
   * answer, at most one for ten answers; where they outweigh these, the longest answer is told.
   */
  quantile(share: number): number {
    const unknown = Math.min(this.open, this.#answers / answersPerOpen);
    let left = this.isTrusted ? Math.min(share * (this.#answers + unknown), this.#answers) : this.#answers;
    let place = -1;
    while (left > 0 && place < classCount - 1) {
      place += 1;
      left -= this.#counts[place] as number;
    }
    return longestIn(place);
  }

  #halve(): void {
    this.#answers = 0;
    for (let place = 0; place < classCount; place += 1) {
      const half = (this.#counts[place] as number) >> 1;
      this.#counts[place] = half;
      this.#answers += half;
    }
  }
}

/** An answer that is awaited. */
export interface AwaitedAnswer {
  /** The output tokens that it will probably not exceed; undefined: too few answers are known. */
  readonly quantile: number | undefined;
  /** The answer has come: of so many output tokens, as its provider reported them; undefined: it has told none, or none came. Call it once. */
  end(tokens: number | undefined): void;
}

/** The lengths of answers by model, as it is executed, and by consumer. */
export class AnswerLengths {
  /** By model and consumer; those of all consumers by the model alone. */
  readonly #histograms = new Recent<string, Histogram>(mostHistograms / 2);

  /**
   * A request to a model is open from now on. `share`, 0 to 1: of the answers so far to this consumer, which should not have exceeded the
   * quantile; of those to all, where these are too few.
   */
  begin(model: string, consumer: string, share: number): AwaitedAnswer {
    const ofModel = this.#used(model);
    const own = this.#used(`${model}\n${consumer}`);
    const quantile = own.isTrusted ? own.quantile(share) : ofModel.isKnown ? ofModel.quantile(share) : undefined;
    ofModel.open += 1;
    own.open += 1;
    return {
      quantile,
      end(tokens) {
        ofModel.open -= 1;
        own.open -= 1;
        if (tokens === undefined) return;
        ofModel.add(tokens);
        own.add(tokens);
      },
    };
  }

  #used(key: string): Histogram {
    let found = this.#histograms.get(key);
    if (found === undefined) {
      found = new Histogram();
      this.#histograms.set(key, found);
    }
    return found;
  }
}

function classOf(tokens: number): number {
  return Math.min(classCount - 1, Math.floor(classesPerDoubling * Math.log2(Math.max(1, tokens))));
}

/** The most tokens of a class. */
function longestIn(place: number): number {
  return Math.ceil(2 ** ((place + 1) / classesPerDoubling)) - 1;
}
