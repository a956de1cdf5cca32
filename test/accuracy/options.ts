// What may be typed after `npm run accuracy --`, read and checked.
import { parseArgs } from 'node:util';

/** Shown with `--help` and after a word that is not known. */
export const usage = `usage: npm run accuracy -- [options]
  (no option)          1, 2 and 8 proxies on a Redis of their own, with and without faults; two minutes of load
  --seconds N          load in all, at least 14 for each size of the fleet (default 120)
  --proxies N,N        sizes of the fleet (default 1,2,8)
  --targets URL,URL    asks these gateways instead, which share one cap; nothing is started, stopped or read besides
    --key KEY          the bearer token of each request (required)
    --model NAME       the model of each request (required)
    --cap N            requests that the cap admits in a period (required)
    --period N         seconds of the period (required); the load lasts at least eight periods`;

/** Gateways that run already. */
export interface Others {
  readonly targets: readonly string[];
  readonly key: string;
  readonly model: string;
  readonly cap: number;
  readonly periodSeconds: number;
}

export interface Options {
  readonly seconds: number;
  /** How many proxies, one fleet after the other. */
  readonly sizes: readonly number[];
  /** Undefined: a fleet is started. */
  readonly others: Others | undefined;
}

/** The fewest seconds for each size of the fleet. */
const fewestSeconds = 14;

/** Reads the words; undefined when the usage is to be shown instead. Throws with the reason when a word is wrong. */
export function readOptions(words: readonly string[]): Options | undefined {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...words],
    options: {
      seconds: { ...text, default: '120' },
      proxies: { ...text, default: '1,2,8' },
      targets: text,
      key: text,
      model: text,
      cap: text,
      period: text,
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const sizes = values.proxies.split(',').map((word) => countOf('--proxies', word));
  const fewest = values.targets === undefined ? fewestSeconds * sizes.length : 1;
  const seconds = countOf('--seconds', values.seconds, fewest);
  const { targets, key, model, cap, period } = values;
  if (targets === undefined) {
    const alone = Object.entries({ key, model, cap, period }).find(([, value]) => value !== undefined);
    if (alone !== undefined) throw new Error(`--${alone[0]} needs --targets`);
    return { seconds, sizes, others: undefined };
  }
  const urls = targets.split(',').map((word) => {
    if (URL.parse(word)?.protocol.startsWith('http') !== true) throw new Error(`--targets: ${word} is no http address`);
    return new URL(word).origin;
  });
  if (key === undefined || model === undefined) throw new Error('--targets needs --key and --model');
  const periodSeconds = countOf('--period', period);
  return {
    seconds: Math.max(seconds, 8 * periodSeconds),
    sizes: [],
    others: { targets: urls, key, model, cap: countOf('--cap', cap), periodSeconds },
  };
}

function countOf(option: string, text: string | undefined, least = 1): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= least) return count;
  throw new Error(`${option} must be a whole number from ${least} on, not ${text ?? 'left out'}`);
}
