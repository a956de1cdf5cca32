// The session of a record: what the client calls its conversation, else a digest of how the conversation begins. The user path is part of
// the id, so that no consumer can write into the session of another one.
import { hash } from 'node:crypto';
import { isSessionName, namedSession, scopeDigits as nameScopeDigits } from '../../domain/records/session-name.ts';
import { foldUserPath } from '../../domain/user-path.ts';
import { withoutKeysOfQuery } from '../../schemas/formats/key-shapes.ts';
import { beginningOf } from '../call/beginning.ts';
import type { Call } from '../call/call.ts';
import { threadOfHeaders, threadOfMembers, threadOfMetadata } from '../call/thread.ts';

/** Claude Code names its session in the user's id: `user_…_session_<uuid>`, or an object as text. */
const sessionInUser = /(?:_session_|"session_id":")([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})/;
/** Hexadecimal digits of an id; of an `auto-` id, those of the beginning come first, then those of user path and model. */
const digits = 32;
const beginningDigits = 24;
const scopeDigits = digits - beginningDigits;
/** Of a longer part of a beginning, its length and its two ends are digested. Bytes. */
const longestPart = 2048;
const partStart = longestPart / 4;
const partEnd = longestPart / 2;

/**
 * The client's own id with a digest of the user path; `auto-` and 32 hexadecimal digits where it has none; `scoped-` and as many where it
 * cannot be shown, because it is too long, no plain text, or holds a key or one of `secrets`. Undefined where nothing tells conversations
 * apart. `call` undefined: no body was read.
 */
export function sessionIdOf(
  rawHeaders: readonly string[],
  call: Pick<Call, 'body' | 'members' | 'model'> | undefined,
  userPath: string,
  secrets: readonly string[] = [],
): string | undefined {
  const named = threadOfHeaders(rawHeaders) ?? (call && namedInBody(call));
  if (named !== undefined) {
    const digest = hash('sha256', `${foldUserPath(userPath)}\0${named}`);
    const isShown = isSessionName(named) && withoutKeysOfQuery(named, secrets) === named;
    return isShown ? namedSession(named, digest.slice(0, nameScopeDigits)) : `scoped-${digest.slice(0, digits)}`;
  }
  const beginning = call && beginningOf(call);
  if (beginning === undefined) return undefined;
  const scope = hash('sha256', `${userPath}\0${call?.model ?? ''}`);
  return `auto-${digestOf(beginning).slice(0, beginningDigits)}${scope.slice(0, scopeDigits)}`;
}

/** Of a long part not all: instructions begin alike, questions end differently, and the digest of a megabyte takes a millisecond. */
function digestOf(parts: readonly Buffer[]): string {
  const pieces = parts.flatMap((part) =>
    part.length <= longestPart
      ? [part]
      : [Buffer.from(`${part.length} `), part.subarray(0, partStart), part.subarray(-partEnd)],
  );
  const [first = Buffer.alloc(0)] = pieces;
  return hash('sha256', pieces.length === 1 ? first : Buffer.concat(pieces));
}

/** A user is no session, unless a session is named in its id. */
function namedInBody(call: Pick<Call, 'body' | 'members'>): string | undefined {
  const named = threadOfMembers(call);
  if (named !== undefined) return named;
  const { session, user } = threadOfMetadata(call);
  return session ?? (user === undefined ? undefined : sessionInUser.exec(user)?.[1]);
}
