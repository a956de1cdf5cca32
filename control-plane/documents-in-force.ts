// The managed documents in force, and the credentials made from them and the master key.
import { endedSessions, managedKeys } from '../domain/documents/kinds.ts';
import { type AuthKey, keysByDigest } from '../domain/keys/auth-key.ts';
import { type Credentials, credentialsOf } from '../domain/keys/credentials.ts';
import { endedByOwner } from '../domain/keys/ended-sessions.ts';
import { digestOf } from '../domain/keys/secret.ts';
import type { Commit } from '../plane/put-in-force.ts';
import type { Document } from '../store/state/state-store.ts';
import { changesOf, storedKind } from './managed/stored-kind.ts';

/** Empty until the first state is in force. */
export class DocumentsInForce {
  documents: readonly Document[] = [];
  credentials: Credentials;
  /** SHA-256 in hex. */
  #masterKeyDigest: string | undefined;
  #masterKey: string | undefined;
  /** By their digests: a change of one key costs as much among many keys as among few. */
  #keys = new Map<string, AuthKey>();
  /** How many keys can be read. */
  #readable = 0;

  constructor(masterKey: string | undefined) {
    this.#masterKey = masterKey;
    this.#masterKeyDigest = masterKey === undefined ? undefined : digestOf(masterKey);
    this.credentials = credentialsOf(this.#masterKeyDigest, []);
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
    const { gone, come } = changesOf(managedKeys, this.documents, documents);
    const ended = endedByOwner(storedKind(endedSessions, { documents }).values());
    const others = credentialsOf(this.#masterKeyDigest, [], isComplete, ended);
    return () => {
      for (const key of gone) if (this.#keys.get(key.digest) === key) this.#keys.delete(key.digest);
      for (const key of come) this.#keys.set(key.digest, key);
      this.#readable += come.length - gone.length;
      // Two keys have the same secret: the first counts.
      if (this.#keys.size !== this.#readable)
        this.#keys = new Map(keysByDigest(storedKind(managedKeys, { documents }).values()));
      this.documents = documents;
      this.credentials = Object.freeze({ ...others, keys: this.#keys });
    };
  }
}
