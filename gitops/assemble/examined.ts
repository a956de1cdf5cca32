// What the files of a configuration declare, for those who look at it before it is assembled.
import type { Config } from '../../schemas/types.ts';
import type { Sources } from './sources.ts';

/** The entries of the files, before variables replace or leave out any. */
export interface Examined {
  readonly config: Config;
  readonly sources: Sources;
  /** In the order of the files. */
  readonly providerNames: readonly string[];
}
