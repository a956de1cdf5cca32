// Logging in and out.
import { ApiError, ask } from './api.ts';
import { beginSession, endSession, leaveSession, type Who } from './session-state.ts';

const path = '/admin/session';

/** Finds out whether this browser has a session. Rejects when nobody answers. */
export async function findSession(): Promise<void> {
  try {
    beginSession((await ask<Who>(path)).body);
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 401 && error.status !== 403)) throw error;
    endSession();
  }
}

/** Rejects with `ApiError`, such as for a wrong key. */
export async function logIn(key: string): Promise<void> {
  beginSession((await ask<Who>(path, { method: 'POST', body: { key } })).body);
}

export async function logOut(): Promise<void> {
  const left = await ask(path, { method: 'DELETE' }).catch((error: unknown) => {
    // A session that is over already needs no end.
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
  });
  leaveSession();
  // An identity provider where the person is signed in, too.
  const signOut = left?.headers.get('x-gateway-sign-out');
  if (signOut) location.assign(signOut);
}
