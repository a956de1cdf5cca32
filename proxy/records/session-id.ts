// The session of a record: what the client calls its conversation, else what the conversation begins with. It is digested with the user path,
// so that no consumer can write into the session of another.
import { hash } from 'node:crypto';
import type { Call } from '../call/call.ts';
import { beginningOf, threadOfHeaders, threadOfMembers, threadOfMetadata } from '../call/thread.ts';

/** Claude Code names its session in the user's id: `user_…_session_<uuid>`, or an object as text. */
const sessionInUser = /(?:_session_|"session_id":")([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})/;
const digits = 32;

/** `scoped-` or `auto-` and 32 hexadecimal digits; undefined where nothing tells conversations apart. `call` undefined: no body was read. */
export function sessionIdOf(
  rawHeaders: readonly string[],
  call: Pick<Call, 'body' | 'members' | 'model'> | undefined,
  userPath: string,
): string | undefined {
  const named = threadOfHeaders(rawHeaders) ?? (call && namedInBody(call));
  if (named !== undefined) return `scoped-${hash('sha256', `${userPath}\0${named}`).slice(0, digits)}`;
  const beginning = call && beginningOf(call);
  if (beginning === undefined) return undefined;
  const scope = Buffer.from(`${userPath}\0${call?.model}\0`);
  return `auto-${hash('sha256', Buffer.concat([scope, ...beginning])).slice(0, digits)}`;
}

/** A user is no session, unless a session is named in its id. */
function namedInBody(call: Pick<Call, 'body' | 'members'>): string | undefined {
  const named = threadOfMembers(call);
  if (named !== undefined) return named;
  const { session, user } = threadOfMetadata(call);
  return session ?? (user === undefined ? undefined : sessionInUser.exec(user)?.[1]);
}
