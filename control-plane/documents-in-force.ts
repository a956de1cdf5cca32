// The managed documents in force, and the credentials made from them, the keys of the configuration and the master key.
import { endedSessions, managedKeys } from '../domain/documents/kinds.ts';
import type { AuthKey } from '../domain/keys/auth-key.ts';
import { configKeys } from '../domain/keys/config-key.ts';
import { type Credentials, credentialsOf } from '../domain/keys/credentials.ts';
import { endedByOwner } from '../domain/keys/ended-sessions.ts';
import { digestOf } from '../domain/keys/secret.ts';
import type { Commit } from '../plane/put-in-force.ts';
import type { ConfigKey } from '../schemas/types.ts';
import type { Document } from '../store/state/state-store.ts';
import { noteDeclaredKeys } from './managed/key-index.ts';
import { changesOf, storedKind } from './managed/stored-kind.ts';

/** Empty until the first state is in force. */
export class DocumentsInForce {
  documents: readonly Document[] = [];
  credentials: Credentials;
  #configKeys: readonly AuthKey[] = [];
  /** SHA-256 in hex. */
  #masterKeyDigest: string | undefined;
  #masterKey: string | undefined;

  constructor(masterKey: string | undefined) {
    this.#masterKey = masterKey;
    this.#masterKeyDigest = masterKey === undefined ? undefined : digestOf(masterKey);
    this.credentials = credentialsOf(this.#masterKeyDigest, []);
  }

  /** The keys that the configuration declares, as they count beside stored ones with the same secret. */
  get configKeys(): readonly AuthKey[] {
    const { keys } = this.credentials;
    return this.#configKeys.map((key) => {
      const counting = keys.get(key.digest);
      return counting?.id === key.id ? counting : key;
    });
  }

  get masterKey(): string | undefined {
    return this.#masterKey;
  }

  /** Lets in another master key, and no longer the one before. */
  renewMasterKey(masterKey: string | undefined): void {
    this.#masterKey = masterKey;
    this.#masterKeyDigest = masterKey === undefined ? undefined : digestOf(masterKey);
    this.prepare(this.documents, this.credentials.isComplete)();
  }

  /**
   * Changes nothing. The function that it returns puts the documents in force and does not throw. `isComplete` is false until the store
   * was read: until then an unknown key may be valid.
   */
  prepare(documents: readonly Document[], isComplete: boolean): Commit {
    const keys = this.credentials.keys.changed(changesOf(managedKeys, this.documents, documents));
    const ended = endedByOwner(storedKind(endedSessions, { documents }).values());
    const credentials = credentialsOf(this.#masterKeyDigest, keys, isComplete, ended);
    return () => {
      this.documents = documents;
      this.credentials = credentials;
    };
  }

  /** `prepare` for the keys of the configuration. */
  prepareConfigKeys(entries: readonly ConfigKey[]): Commit {
    const come = configKeys(entries);
    const { isComplete, endedSessions: ended } = this.credentials;
    const keys = this.credentials.keys.changed({ gone: this.#configKeys, come });
    const credentials = credentialsOf(this.#masterKeyDigest, keys, isComplete, ended);
    return () => {
      this.#configKeys = come;
      noteDeclaredKeys(come);
      this.credentials = credentials;
    };
  }
}
