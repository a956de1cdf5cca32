// Which rules count a request: all that match, those of user paths, or none.
import type { Limiter } from './limiter.ts';
import type { Matches } from './match.ts';

/** `user_paths`: the rules of user paths, but for those on requests in flight, because no slot is held (spec, Limits 10). */
export type Counting = 'everything' | 'user_paths' | 'nothing';

/** The rules that count a request of the consumer `userPath`, a path as `normaliseUserPath` returns it. */
export function rulesOfConsumer(
  counts: Counting,
  userPath: string,
  limiter: Pick<Limiter, 'forUserPath' | 'unlimited' | 'windowsForUserPath'>,
): Matches {
  if (counts === 'nothing') return limiter.unlimited;
  return counts === 'everything' ? limiter.forUserPath(userPath) : limiter.windowsForUserPath(userPath);
}

/** The rules that count a request at a target: those of the provider instance and of its model. */
export function rulesOfTarget(
  counts: Counting,
  { upstream, model }: { readonly upstream: { readonly name: string }; readonly model: string },
  limiter: Pick<Limiter, 'forTarget' | 'unlimited'>,
): Matches {
  return counts === 'everything' ? limiter.forTarget(upstream.name, model) : limiter.unlimited;
}
