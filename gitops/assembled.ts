// The type of an assembled configuration: the document, plus the order of its providers.
import type { Config } from '../schemas/types.ts';

export interface AssembledConfig extends Config {
  /**
   * The names of all providers in the order of the file, including providers that are left out. `providers` is an object, which puts
   * names that are whole numbers first. Absent when `providers` has the same names in the same order.
   */
  readonly providerNames?: readonly string[];
}
