// What watches over the memory of the process: its limits, whether they are nearly reached, and how much of it bodies may take.
import type { Log } from '../plane/log-events.ts';
import { BodyBudget } from './body-budget.ts';
import { logOverload, memoryLimits, type Overload, watchMemory } from './overload.ts';

/** `nodeOptions`: those of the environment; those of the command line count, too. */
export function guardMemory(nodeOptions = '', log: Log): { readonly overload: Overload; readonly bodies: BodyBudget } {
  const limits = memoryLimits([...nodeOptions.split(' '), ...process.execArgv]);
  return {
    overload: watchMemory(limits, logOverload(log)),
    bodies: new BodyBudget(Math.min(limits.heapBytes, limits.processBytes)),
  };
}
