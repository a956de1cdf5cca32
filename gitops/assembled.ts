// The type of an assembled configuration: the document, the order of its providers, and where its entries are declared.
import type { Config } from '../schemas/types.ts';
import type { DeclaredPlaces } from './places.ts';

export interface AssembledConfig extends Config {
  /**
   * The names of all providers in the order of the file, including providers that are left out. `providers` is an object, which puts
   * names that are whole numbers first. Absent when `providers` has the same names in the same order.
   */
  readonly providerNames?: readonly string[];
  /** Where the entries are declared. Absent in a proxy, which shows none. */
  readonly places?: DeclaredPlaces;
}
