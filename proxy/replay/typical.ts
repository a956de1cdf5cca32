// What requests like one have taken so far: the guess for a request whose answer was not recorded. Bounded.
import type { TrafficLine, TrafficTokens } from '../../domain/records/traffic.ts';

/** Pairs of user path and model; further ones are guessed by the model alone. */
const mostPairs = 20_000;

interface Sum {
  count: number;
  input: number;
  output: number;
  ms: number;
}

export interface Guess {
  readonly tokens: TrafficTokens;
  readonly ms: number;
}

const nothing: Guess = { tokens: { input: 0, output: 0 }, ms: 0 };

export class Typical {
  readonly #sums = new Map<string, Sum>();

  /** Takes an answer that was recorded. */
  note({ user_path: userPath, model = '', tokens, ms }: TrafficLine): void {
    if (tokens === undefined) return;
    for (const key of [`${userPath}\n${model}`, model, '']) {
      let sum = this.#sums.get(key);
      if (sum === undefined) {
        if (this.#sums.size >= mostPairs && key.includes('\n')) continue;
        sum = { count: 0, input: 0, output: 0, ms: 0 };
        this.#sums.set(key, sum);
      }
      sum.count += 1;
      sum.input += tokens.input;
      sum.output += tokens.output;
      sum.ms += ms;
    }
  }

  /** The mean of the same user path and model, else of the model, else of all. */
  guess({ user_path: userPath, model = '' }: TrafficLine): Guess {
    const sum = this.#sums.get(`${userPath}\n${model}`) ?? this.#sums.get(model) ?? this.#sums.get('');
    if (sum === undefined) return nothing;
    const { count, input, output, ms } = sum;
    return { tokens: { input: Math.round(input / count), output: Math.round(output / count) }, ms: ms / count };
  }
}
