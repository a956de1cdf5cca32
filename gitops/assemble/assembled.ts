// The type of an assembled configuration: the document, the order of its providers, the files of their keys, and where its entries are
// declared.
import type { Config } from '../../schemas/types.ts';
import type { Problem } from '../read/problem.ts';
import type { DeclaredPlaces } from './places.ts';

/** A file with a key or certificates of a provider. */
export interface KeyFile {
  readonly provider: string;
  readonly holds: 'key' | 'certificates';
  /** As it is written: relative to the working directory. */
  readonly path: string;
  /** Where that is written. */
  readonly place: Omit<Problem, 'message'>;
}

/** A file with the secret of a key of clients. */
export interface ClientKeyFile extends Pick<KeyFile, 'path' | 'place'> {
  /** Of the key. */
  readonly name: string;
}

/** The source of an alias, and a target of it that is left out. */
export type DroppedTarget = readonly [source: string, target: string];

export interface AssembledConfig extends Config {
  /**
   * The names of all providers in the order of the file, including providers that are left out. `providers` is an object, which puts
   * names that are whole numbers first. Absent when `providers` has the same names in the same order.
   */
  readonly providerNames?: readonly string[];
  /** Where the entries are declared. Absent in a configuration that was not read from files. */
  readonly places?: DeclaredPlaces;
  /** Targets of aliases that lead only to providers that are left out; absent when there are none. */
  readonly droppedTargets?: readonly DroppedTarget[];
  /** The files with keys of providers; absent when there are none. */
  readonly keyFiles?: readonly KeyFile[];
  /** The files with secrets of clients; absent when there are none. */
  readonly clientKeyFiles?: readonly ClientKeyFile[];
  /** Mistakes in keys and variables of providers that are left out because of them; absent when there are none. */
  readonly keyProblems?: readonly Problem[];
  /** By provider, the certificates that its file holds: PEM. */
  readonly authorities?: Readonly<Record<string, string>>;
  /** By provider, keys that were in force before: secrets as well. */
  readonly formerKeys?: Readonly<Record<string, readonly string[]>>;
}
