// Routes to balance, and what stands in their way.

import { credentialsOf } from '../../../../domain/keys/credentials.ts';
import { type Balance, createBalance } from '../../../../proxy/routing/balance/balance.ts';
import { compile } from '../../../../proxy/snapshot/compile.ts';
import type { Route, Strategy, Target } from '../../../../proxy/snapshot/snapshot.ts';
import { TargetStates } from '../../../../proxy/targets/target-states.ts';
import { sampleConfig } from '../../sample-config.ts';

export const start = 1_800_000_000_000;

/** An alias with these weights: the targets are m0, m1 and so on, or these models. */
export function routeWith(
  weights: readonly number[],
  strategy: Strategy = 'round_robin',
  models: readonly string[] = weights.map((_, index) => `m${index}`),
): Route {
  const targets = weights.map((weight, index) => ({ model: `p/${models[index]}`, weight }));
  const config = sampleConfig({ providers: { p: { models: [...models] } }, aliases: [{ source: 'a', targets }] });
  const route = compile(config, '', credentialsOf(undefined, [])).routes.get('a') as Route;
  return { ...route, strategy };
}

export interface Stand {
  readonly balance: Balance;
  readonly states: TargetStates;
  /** The models in the order in which they are to be asked. */
  readonly order: (route: Route, nowMs?: number, thread?: string) => string[];
  /** The one that is to be asked first. */
  readonly first: (route: Route, nowMs?: number, thread?: string) => string;
}

export function stand(): Stand {
  const states = new TargetStates();
  const balance = createBalance(states);
  const order = (route: Route, nowMs: number = start, thread?: string): string[] =>
    balance(route, { nowMs, thread }).map(({ model }) => model);
  return { balance, states, order, first: (...asked) => order(...asked)[0] ?? '' };
}

/** Opens the breaker of a target. */
export function breakOpen(states: TargetStates, target: Target, nowMs: number = start): void {
  for (let failure = 0; failure < 5; failure += 1) states.of(target).breaker.failed(nowMs);
}

/** The target of a route with this place. */
export const targetAt = (route: Route, index: number): Target => route.targets[index] as Target;
