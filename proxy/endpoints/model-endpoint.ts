// What tells one model endpoint from another: data, never callbacks. The line that serves them all is pipeline.ts.
import type { Operation } from '../dialects/dialect.ts';

/** A row of the capability table. */
export interface ModelEndpoint {
  readonly path: string;
  readonly operation: Operation;
}
