// The events and the status of the configuration that a process follows.
import type { ConfigChange } from '../diff/config-change.ts';
import type { Problem } from '../read/problem.ts';
import type { SourceFile } from '../read/read.ts';
import type { GivenSource, GivenStatus } from './given-config.ts';
import type { SecretAge } from './secret-texts.ts';

/**
 * `applied`: in force now. `recovered`: the directory holds the configuration in force again. `rejected`: nothing changed.
 * `client-key-renewed`: a file of a client's key has another secret, which is in force now.
 * `key-renewed`, `certificates-renewed`, `secret-renewed`: a file of a provider, or a secret that a text refers to, has another content, which is
 * in force now; the problems say where it is named.
 * `listener-renewed`: the files of the listener have another certificate, or other authorities, which are in force now.
 * `last-good-used`: the process started with the copy; the problems say why. `warning`: changes nothing.
 * `given`: what is given in place of the directory is in force now. `given-unusable`: it cannot be, and nothing changed. `waiting`: the
 * directory holds another configuration, which is good and not put in force because of the given one.
 */
export interface ConfigEvent {
  kind:
    | 'applied'
    | 'recovered'
    | 'rejected'
    | 'key-renewed'
    | 'certificates-renewed'
    | 'secret-renewed'
    | 'client-key-renewed'
    | 'listener-renewed'
    | 'last-good-used'
    | 'given'
    | 'given-unusable'
    | 'waiting'
    | 'warning';
  /** The revision of the content that the event is about. */
  revision: string;
  problems: readonly Problem[];
  /** With `applied` and `given`: the differences from the configuration that was in force before; absent when there are none. */
  changes?: readonly ConfigChange[];
  /** With what was put in force or rejected: all files of it, unexpanded; absent where some could not be read. */
  files?: readonly SourceFile[] | undefined;
}

export interface RejectedContent {
  readonly revision: string;
  /** Since when the directory has held nothing that can be put in force, in Unix milliseconds. */
  readonly sinceMs: number;
}

export interface FollowStatus {
  /** The revision of the configuration in force. */
  revision: string;
  source: 'directory' | 'last-good' | GivenSource;
  lastReloadSuccessful: boolean;
  /** When the directory last held the configuration in force, in Unix milliseconds; 0 when never since the start. */
  lastSuccessMs: number;
  /** Counts since the start, without the first load. */
  reloads: { success: number; failure: number };
  /** The problems of the directory now. */
  problems: readonly Problem[];
  /** What is given in place of the directory, also where it cannot be used; absent: nothing is. */
  given?: GivenStatus | undefined;
  /** The revision that the directory held when it was last decided on; empty: it was not yet. */
  directory: string;
  /** The revision of the directory while something is given; absent when it holds what is in force, or was not read yet. */
  waiting?: string | undefined;
  /** The content that was rejected last; absent while the directory holds what is in force. */
  rejected?: RejectedContent | undefined;
  /** The certificate of the listener in force; absent without TLS. `problem`: why what its files hold now is not. */
  certificate?: { readonly notAfterMs: number; readonly problem: Problem | undefined };
  /** The files of providers' keys that cannot be read now; absent where keys are not read. */
  keyFileProblems?: readonly Problem[];
  /** References to secrets that cannot be read now; absent where secrets are not read. */
  referenceProblems?: readonly Problem[];
  /** When each secret that is referred to was last read; absent where secrets are not read. */
  secretAges?: readonly SecretAge[];
  /** Mistakes in keys and variables of providers that are left out because of them; absent where keys are not read. */
  keyProblems?: readonly Problem[];
  /** Providers that are left out, because they have no key; absent where keys are not read. */
  leftOut?: readonly string[];
}
