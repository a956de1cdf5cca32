// The type of an assembled configuration: the document, the order of its providers, what is read elsewhere, and where its entries are
// declared.
import type { Config } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import type { ListenerFiles, ListenerMaterial } from '../read/listener-files.ts';
import type { Problem } from '../read/problem.ts';
import type { SecretPart } from '../read/secret-reference.ts';
import type { DeclaredPlaces } from './places.ts';

/** A text of a provider or of a guardrail that is made of what is read elsewhere, and read again: files, and secrets of vaults. */
export interface SecretText {
  readonly section: 'providers' | 'guardrails';
  /** The name of the provider or of the guardrail. */
  readonly name: string;
  /** Where it is filled in, within the entry. */
  readonly at: Path;
  /** key: a file of `api_key_file` or `api_key_files`. certificates: that of `ca_file`, whose content has a place of its own. */
  readonly holds: 'key' | 'certificates' | 'text';
  readonly parts: readonly SecretPart[];
  /** Where it is written. */
  readonly place: Omit<Problem, 'message'>;
}

/** A file with the secret of a key of clients. */
export interface ClientKeyFile extends Pick<SecretText, 'name' | 'place'> {
  /** As it is written: relative to the working directory. */
  readonly path: string;
}

/** A listener with TLS: of the proxy (`server`) or of the control plane (`admin`). */
export interface Listener {
  readonly section: 'server' | 'admin';
  /** As they are written: relative to the working directory. */
  readonly files: ListenerFiles;
  /** Where each file is written, by its member: `client_certificates.ca_file`. */
  readonly places: Readonly<Record<string, SecretText['place']>>;
  /** How long before the end of its certificate that is told. */
  readonly warnBeforeMs: number;
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
  /** The texts that are read elsewhere; absent when there are none. Here they stand as they are written. */
  readonly secretTexts?: readonly SecretText[];
  /** The files with secrets of clients; absent when there are none. */
  readonly clientKeyFiles?: readonly ClientKeyFile[];
  /** The listeners that speak TLS; absent when there are none. */
  readonly listeners?: readonly Listener[];
  /** What the files of the listener of this process hold: with the private key. */
  readonly material?: ListenerMaterial;
  /** Mistakes in keys and variables of providers that are left out because of them; absent when there are none. */
  readonly keyProblems?: readonly Problem[];
  /** By provider, the certificates that its file holds: PEM. */
  readonly authorities?: Readonly<Record<string, string>>;
  /** By provider, keys that were in force before: secrets as well. */
  readonly formerKeys?: Readonly<Record<string, readonly string[]>>;
  /** The guardrails of which a text was never read: they cannot judge. Absent when there are none. */
  readonly unreadGuardrails?: readonly string[];
}
