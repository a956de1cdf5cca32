// What an open request sets aside under token rules: its prompt as recorded, and as much as answers before it took, as the gateway learns it.
import type { TrafficLine, TrafficTokens } from '../../domain/records/traffic.ts';
import type { AwaitedAnswer } from '../limits/answer-lengths.ts';
import type { Limiter } from '../limits/limiter.ts';

/** The answer of a model that has not answered often. Tokens. */
const usualTokens = 1_024;
const shares = { p50: 0.5, p90: 0.9, max: 1 } as const;

interface Answerer {
  /** `<provider>/<model>`. */
  readonly target: string;
  /** The user path. */
  readonly consumer: string;
}

/** The answer is open from now on, until its `end` is called; undefined: nothing is set aside. */
export function awaitAnswer(
  { lengths, reserveTokens }: Limiter,
  { target, consumer }: Answerer,
): AwaitedAnswer | undefined {
  return reserveTokens === 'none' ? undefined : lengths.begin(target, consumer, shares[reserveTokens]);
}

/** The tokens that a request would set aside; 0: nothing is. */
export function wantedAt(
  limiter: Limiter,
  answerer: Answerer,
  { max_tokens: bound }: Pick<TrafficLine, 'max_tokens'>,
  { input }: TrafficTokens,
): number {
  const answer = awaitAnswer(limiter, answerer);
  if (answer === undefined) return 0;
  answer.end(undefined);
  const learned = answer.quantile ?? usualTokens;
  const isBounded = bound !== undefined && (limiter.reserveTokens === 'max' || bound < learned);
  return Math.max(1, Math.round(input + (isBounded ? bound : learned)));
}
