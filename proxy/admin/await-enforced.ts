// After a write of an operator: waits until this proxy enforces what was written, for at most a second.
import { setTimeout } from 'node:timers/promises';
import type { StateFollower } from '../../store/state/state-follower.ts';
import type { Siblings } from '../workers/siblings.ts';

/** In answers of the proxy to writes: `true` when it enforces them, `false` when it did not within a second. */
export const enforcedHeader = 'x-gateway-enforced';

/** How long an answer waits at most, and how long between two looks at the store. Milliseconds. */
const mostMs = 1_000;
const pauseMs = 20;
const notEnforced = 'not enforced';

type State = Pick<StateFollower, 'status' | 'refresh'>;

/**
 * Whether this process and the other workers of the proxy have the revision in force: the next request of the operator may reach any of them.
 * A worker that does not answer is not waited for: it serves nobody.
 */
export async function awaitEnforcedByAll(
  { state, siblings }: { readonly state: State; readonly siblings: Pick<Siblings, 'ask'> },
  revision: number,
  gone: AbortSignal,
): Promise<boolean> {
  const others = siblings.ask({ about: 'enforced', revision });
  const own = await awaitEnforced(state, revision, gone);
  return own && !(await others).includes(notEnforced);
}

/** The answer to another worker that asks whether this one enforces the revision. */
export async function sayEnforced(state: State, revision: number): Promise<string> {
  return (await awaitEnforced(state, revision, new AbortController().signal)) ? 'enforced' : notEnforced;
}

/**
 * Whether this process has the revision in force: at once when it has, otherwise the store is asked until it has. False after a second,
 * also when the store does not answer. `gone`: the client has left, so the wait ends.
 */
export async function awaitEnforced(state: State, revision: number, gone: AbortSignal): Promise<boolean> {
  const isEnforced = (): boolean => {
    const { isUp, source, revision: inForce } = state.status();
    return isUp && source === 'store' && inForce >= revision;
  };
  if (isEnforced()) return true;
  const over = new AbortController();
  const signal = AbortSignal.any([gone, over.signal]);
  const isLate = setTimeout(mostMs, true, { signal }).catch(() => true);
  try {
    while (!isEnforced()) if (await Promise.race([isLate, look()])) break;
    return isEnforced();
  } finally {
    over.abort();
  }

  async function look(): Promise<false> {
    await state.refresh();
    return isEnforced() ? false : setTimeout(pauseMs, false);
  }
}
