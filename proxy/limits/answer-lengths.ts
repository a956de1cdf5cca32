// How long answers were, by model and consumer: what the next answer will probably take. Bounded, in memory, and lost with the process.

/** How the length of an answer was known before it: the request bounds it, answers before it were as long, or neither. */
export type Basis = 'asked' | 'learned' | 'usual';

/** Four classes to a doubling: class 0 is one token, the last one 55,109 and more. */
const classCount = 64;
const classesPerDoubling = 4;
/** After so many answers all counts are halved, so that what was learned follows what changes. */
const mostAnswers = 2_000;
/** Fewer answers say nothing. */
const leastAnswers = 30;
/** Pairs of model and consumer, and models alone. */
const mostHistograms = 4_096;

/** The lengths of the answers of one model to one consumer, or to all. */
class Histogram {
  readonly #counts = new Uint16Array(classCount);
  #answers = 0;

  add(tokens: number): void {
    if (this.#answers >= mostAnswers) this.#halve();
    const place = classOf(tokens);
    this.#counts[place] = (this.#counts[place] as number) + 1;
    this.#answers += 1;
  }

  /** The length that this share of the answers did not exceed, rounded up to the end of its class; undefined: there were too few. */
  quantile(share: number): number | undefined {
    if (this.#answers < leastAnswers) return undefined;
    let left = share * this.#answers;
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

/** The lengths of answers by model, as it is executed, and by consumer. */
export class AnswerLengths {
  /** By model and consumer, the ones noted last at the end; those of all consumers by the model alone. */
  readonly #histograms = new Map<string, Histogram>();

  /** An answer of `tokens` output tokens, as its provider reported them. */
  note(model: string, consumer: string, tokens: number): void {
    this.#noted(model).add(tokens);
    this.#noted(pairOf(model, consumer)).add(tokens);
  }

  /**
   * The output tokens that `share` (0 to 1) of the answers of a model to a consumer did not exceed; of its answers to all, where those to this
   * one are too few; undefined where these are too few as well.
   */
  quantile(model: string, consumer: string, share: number): number | undefined {
    const own = this.#histograms.get(pairOf(model, consumer))?.quantile(share);
    return own ?? this.#histograms.get(model)?.quantile(share);
  }

  /** The number of histograms that are kept. */
  get size(): number {
    return this.#histograms.size;
  }

  #noted(key: string): Histogram {
    const found = this.#histograms.get(key) ?? new Histogram();
    this.#histograms.delete(key);
    this.#histograms.set(key, found);
    if (this.#histograms.size > mostHistograms) {
      const [oldest = ''] = this.#histograms.keys();
      this.#histograms.delete(oldest);
    }
    return found;
  }
}

/** No model has a line break in its name. */
function pairOf(model: string, consumer: string): string {
  return `${model}\n${consumer}`;
}

function classOf(tokens: number): number {
  return Math.min(classCount - 1, Math.floor(classesPerDoubling * Math.log2(Math.max(1, tokens))));
}

/** The most tokens of a class. */
function longestIn(place: number): number {
  return Math.ceil(2 ** ((place + 1) / classesPerDoubling)) - 1;
}
