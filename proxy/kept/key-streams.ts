// Ends the sessions of keys that are revoked, replaced or expired, and their streams where server.cut_revoked_streams is set.
import { type AuthKey, isActive } from '../../domain/keys/auth-key.ts';
import type { Credentials } from '../../domain/keys/credentials.ts';
import type { TokenKeys } from '../../plane/identities/token-keys.ts';
import { type Listed, OpenList } from '../pacing/open-list.ts';
import { Polling } from '../pacing/polling.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';

/** Between two polls of the open streams: with the time a revocation takes to arrive, a stream ends within a second. Milliseconds. */
const pollMs = 200;

/** Who opened a stream: with a managed key, or with the token that a key stands for. */
export interface KeyHolder {
  readonly keyId: string | undefined;
  readonly tokenKey?: AuthKey | undefined;
}

export interface KeyStreams {
  /**
   * Watches a stream that a managed key or a token opened, until the answer is called. `cut` is called when the key was revoked, deleted or has
   * expired, again at every poll until the stream is gone. `isSession`: it may last for hours, so it ends whatever the setting says.
   */
  watch(holder: KeyHolder, cut: () => void, isSession?: boolean): () => void;
  /**
   * Watches a session that the master key with this digest opened: `cut` is called when another key has replaced it.
   */
  watchMaster(digest: string, cut: () => void): () => void;
}

interface OpenStream extends Listed {
  /** The id of a managed key. */
  readonly keyId: string | undefined;
  /** Of the master key, in the place of an id. */
  readonly digest: string | undefined;
  /** In the place of an id, too. */
  readonly tokenKey: AuthKey | undefined;
  readonly cut: () => void;
  readonly isSession: boolean;
}

/** Polls the current state instead of following changes, so that no change of keys, clocks or settings can be missed. */
export function createKeyStreams(
  current: () => Snapshot,
  nowMs: () => number,
  tokenKeys?: Pick<TokenKeys, 'now'>,
): KeyStreams {
  const open = new OpenList<OpenStream>();
  let known: Credentials | undefined;
  let active = new Map<string, number>();

  const polling = new Polling(() => {
    const { credentials, cutsRevokedStreams } = current();
    if (credentials !== known) active = expiries(credentials);
    known = credentials;
    const now = nowMs();
    open.each(({ keyId, digest, tokenKey, cut, isSession }) => {
      if (!isSession && !cutsRevokedStreams) return;
      if (tokenKey !== undefined) {
        if (tokenKeys?.now(tokenKey) === undefined) cut();
        return;
      }
      if (keyId === undefined) {
        if (digest !== credentials.masterKeyDigest) cut();
        return;
      }
      const expiresAtMs = active.get(keyId);
      // Keys that could not be read are not revoked.
      const isRevoked = expiresAtMs === undefined ? credentials.isComplete : now >= expiresAtMs;
      if (isRevoked) cut();
    });
    return open.size > 0;
  }, pollMs);
  const watch = (stream: OpenStream): (() => void) => {
    open.add(stream);
    polling.start();
    return () => open.remove(stream);
  };
  return {
    watch: ({ keyId, tokenKey }, cut, isSession = false) =>
      watch({ keyId, digest: undefined, tokenKey, cut, isSession, place: undefined }),
    watchMaster: (digest, cut) =>
      watch({ keyId: undefined, digest, tokenKey: undefined, cut, isSession: true, place: undefined }),
  };
}

/** When each active key expires, by its id. Unix milliseconds. */
function expiries({ keys }: Credentials): Map<string, number> {
  const switchedOn = [...keys.values()].filter((key) => isActive(key, Number.NEGATIVE_INFINITY));
  return new Map(switchedOn.map(({ id, expiresAtMs }) => [id, expiresAtMs]));
}
