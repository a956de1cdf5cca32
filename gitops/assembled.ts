// A configuration as assembly leaves it: what the document says, and what the form of the document does not keep.
import type { Config } from '../schemas/types.ts';

export interface AssembledConfig extends Config {
  /**
   * Every provider as declared, in order, those that are left out included: objects put names that are whole numbers first. Absent when
   * that is what `providers` has.
   */
  readonly providerNames?: readonly string[];
}
