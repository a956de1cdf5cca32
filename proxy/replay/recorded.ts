// What the recording of a request says about its answer and its targets.
import type { TrafficLine, TrafficTokens } from '../../domain/records/traffic.ts';
import type { Target } from '../snapshot/snapshot.ts';
import type { Typical } from './typical.ts';

/** A target as rules and prices know it. */
export type Place = Pick<Target, 'model' | 'price'> & { readonly upstream: { readonly name: string } };

/** The answer of a request: as it was recorded, else as it probably is. */
export interface KnownAnswer {
  /** `<provider>/<model>` whose answer was used; undefined: none was. */
  readonly answered: string | undefined;
  readonly tokens: TrafficTokens;
  /** Milliseconds. */
  readonly lastsMs: number;
  readonly isRecorded: boolean;
  /** It was refused for a reason that no configuration changes, such as a body that is no JSON. */
  readonly isOwnFault: boolean;
}

/** Errors that depend on the configuration. */
const ofConfig: ReadonlySet<string | undefined> = new Set([
  'rate_limit_exceeded',
  'budget_exceeded',
  'model_not_found',
  'no_target_matches',
  'model_access_denied',
]);

/** A rule, a budget, a key or a model of the configuration has refused it. */
export function isRefusedByConfig({ error, calls }: TrafficLine): boolean {
  return calls === undefined && ofConfig.has(error);
}

const nothing: TrafficTokens = { input: 0, output: 0 };

/** `scale`: what is not known is so many times what is typical. */
export function knownAnswer(line: TrafficLine, { typical, scale }: { typical: Typical; scale: number }): KnownAnswer {
  const { tokens, cached, calls, ms } = line;
  const answered = answeredBy(line);
  if (cached === undefined && !isRefusedByConfig(line))
    return {
      answered,
      tokens: tokens ?? nothing,
      lastsMs: ms,
      isRecorded: true,
      isOwnFault: calls === undefined && line.status >= 400,
    };
  const guess = typical.guess(line);
  const { input, output } = tokens ?? guess.tokens;
  const scaled = { input: input * scale, output: output * scale };
  return { answered, tokens: scaled, lastsMs: guess.ms, isRecorded: false, isOwnFault: false };
}

function answeredBy({ calls = [] }: TrafficLine): string | undefined {
  const call = calls.findLast(({ ok }) => ok);
  return call && `${call.provider}/${call.model}`;
}

export function nameOf({ upstream, model }: Place): string {
  return `${upstream.name}/${model}`;
}

/** The targets that were called, in their order, then the others of the route; without a route those that were called. */
export function placesOf({ calls = [] }: TrafficLine, targets: readonly Place[]): readonly Place[] {
  const called = calls.flatMap(({ provider, model }): Place[] => {
    if (targets.length === 0) return [{ upstream: { name: provider }, model }];
    const name = `${provider}/${model}`;
    return targets.filter((target) => nameOf(target) === name);
  });
  return [...new Set([...called, ...targets])];
}

/** An order without the targets that were passed over when the request was recorded, although their rules had room: they were out for another reason. */
export function orderOf<Ordered extends Place>(
  ordered: readonly Ordered[],
  answered: string | undefined,
  full: readonly string[],
): readonly Ordered[] {
  const place = ordered.findIndex((target) => nameOf(target) === answered);
  return ordered.filter((target, index) => index >= place || full.includes(nameOf(target)));
}
