// Watches the memory of the process: its limits, whether they are nearly reached, and the share of bodies.
import type { Log } from '../../plane/log-events.ts';
import { CaptureBudget } from '../capture/capture-budget.ts';
import { BodyBudget } from '../http/body-budget.ts';
import { logOverload, memoryLimits, type Overload, watchMemory } from '../http/overload.ts';

export interface GuardedMemory {
  readonly overload: Overload;
  /** Of requests on their way. */
  readonly bodies: BodyBudget;
  /** Of what is recorded of them. */
  readonly captures: CaptureBudget;
}

/** `nodeOptions`: those of the environment; those of the command line count, too. `workers`: how many processes share the memory. */
export function guardMemory(nodeOptions = '', workers: number, log: Log): GuardedMemory {
  const limits = memoryLimits([...nodeOptions.split(' '), ...process.execArgv], workers);
  const leastBytes = Math.min(limits.heapBytes, limits.processBytes);
  return {
    overload: watchMemory(limits, logOverload(log)),
    bodies: new BodyBudget(leastBytes, workers),
    captures: new CaptureBudget(leastBytes),
  };
}
