// Who is logged in, as the page knows it.
import type { Role } from '../../../domain/keys/role.ts';
import { Cell } from './cell.ts';

/** The answer of /admin/session. */
export interface Who {
  readonly kind: 'master_key' | 'managed_key' | 'identity' | 'person' | 'anonymous';
  readonly key_id: string | null;
  readonly key_name: string | null;
  readonly role: Role;
  /** Who has signed in at an identity provider; otherwise null. */
  readonly person: { readonly identity: string; readonly subject: string; readonly name: string } | null;
  readonly user_path: string;
  readonly scoped: boolean;
  readonly expires_at: string | null;
  readonly csrf_token: string | null;
  readonly version: string;
  readonly server_time: string;
}

export interface SessionState {
  /** `unknown`: nobody has been asked yet. */
  readonly standing: 'unknown' | 'in' | 'out';
  /** While logged in. */
  readonly who: Who | undefined;
  /** The session ended by itself: the login says so. */
  readonly hasEnded: boolean;
}

export const session = new Cell<SessionState>({ standing: 'unknown', who: undefined, hasEnded: false });

export function beginSession(who: Who): void {
  session.set({ standing: 'in', who, hasEnded: false });
}

/** It is over, or its key was revoked. */
export function endSession(): void {
  session.set({ standing: 'out', who: undefined, hasEnded: session.value.standing === 'in' });
}

export function leaveSession(): void {
  session.set({ standing: 'out', who: undefined, hasEnded: false });
}
