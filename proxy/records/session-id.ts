// The session of a record: what the client calls its conversation, else what the conversation begins with. It is digested with the user path,
// so that no consumer can write into the session of another.
import { hash } from 'node:crypto';
import { beginningOf } from '../call/beginning.ts';
import type { Call } from '../call/call.ts';
import { threadOfHeaders, threadOfMembers, threadOfMetadata } from '../call/thread.ts';
import { sessionOfBeginning } from './remembered-sessions.ts';

/** Claude Code names its session in the user's id: `user_…_session_<uuid>`, or an object as text. */
const sessionInUser = /(?:_session_|"session_id":")([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})/;
/** Hexadecimal digits of an id. */
const digits = 32;
/** Bytes. */
const longText = 2048;
/** Beginnings have five parts at most. */
const shared = Buffer.allocUnsafeSlow(5 * longText);

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
  return sessionOfBeginning(contentOf(beginning), { userPath, model: call?.model ?? '' });
}

/** What tells a beginning apart from others, in one piece that is read before anything else runs. */
function contentOf(parts: readonly Buffer[]): Buffer {
  const [first] = parts;
  if (first !== undefined && parts.length === 1 && first.length <= longText) return first;
  let at = 0;
  for (const part of parts) at = addContent(part, at);
  return shared.subarray(0, at);
}

/** Of a long text its length and its ends: instructions begin alike, and questions end differently. A digest of all of it takes too long. */
function addContent(text: Buffer, from: number): number {
  const { length } = text;
  if (length <= longText) return from + text.copy(shared, from);
  let at = from + shared.write(`${length} `, from, 'latin1');
  at += text.copy(shared, at, 0, longText / 4);
  return at + text.copy(shared, at, length - longText / 2);
}

/** A user is no session, unless a session is named in its id. */
function namedInBody(call: Pick<Call, 'body' | 'members'>): string | undefined {
  const named = threadOfMembers(call);
  if (named !== undefined) return named;
  const { session, user } = threadOfMetadata(call);
  return session ?? (user === undefined ? undefined : sessionInUser.exec(user)?.[1]);
}
