// Which conversation a call belongs to, as far as it says: balancing by session affinity goes by it.
import { hash } from 'node:crypto';
import { memberNamed } from '../bytes/member-named.ts';
import { beginningOf, type Said } from './beginning.ts';
import { isNamed } from './head.ts';

/** Where clients name their session, the first that is there wins: our own, then those of Codex, Claude Code, LiteLLM, Helicone and others. */
const headers = [
  'x-session-id',
  'session-id',
  'session_id',
  'x-claude-code-session-id',
  'x-litellm-session-id',
  'helicone-session-id',
  'agent-session-id',
];
/** The headers by their length: few headers have one of these. */
const headersByLength: readonly (readonly string[] | undefined)[] = Array.from(
  { length: 1 + Math.max(...headers.map(({ length }) => length)) },
  (_, length) => {
    const names = headers.filter((name) => name.length === length);
    return names.length === 0 ? undefined : names;
  },
);
/** Members of the body that name a session; then come those of `metadata`, and the user. */
const members = ['prompt_cache_key', 'session_id', 'litellm_session_id', 'conversation'];

/** Longer members are no names. Bytes. */
const longestMember = 16 * 1024;

const nothing: Buffer = Buffer.alloc(0);

/** Of a call whose body is none that names a conversation. */
export const nothingSaid: Said = { body: nothing, members: [] };

/** A call as balancing sees it. Its thread is worked out only when it is asked for. */
export class CallContext {
  /** When it is balanced: Unix milliseconds. */
  readonly nowMs: number;
  readonly #rawHeaders: readonly string[];
  readonly #call: Said;

  constructor(nowMs: number, rawHeaders: readonly string[], call: Said) {
    this.nowMs = nowMs;
    this.#rawHeaders = rawHeaders;
    this.#call = call;
  }

  /** The name of the conversation; see `threadOf`. */
  get thread(): string | undefined {
    return threadOf(this.#rawHeaders, this.#call);
  }
}

/**
 * The name of the conversation a call belongs to: what a header or the body calls it, else a digest of its beginning, up to and including
 * the first message of the user, which every later call of the conversation repeats. Undefined for a call without messages.
 */
export function threadOf(rawHeaders: readonly string[], call: Said): string | undefined {
  const named = threadOfHeaders(rawHeaders) ?? threadOfMembers(call) ?? nameOfUser(call);
  if (named !== undefined) return named;
  const beginning = beginningOf(call);
  return beginning && hash('sha256', joined(beginning), 'base64url');
}

/** The name of the conversation in a header; undefined without one. */
export function threadOfHeaders(rawHeaders: readonly string[]): string | undefined {
  let found: string | undefined;
  let rank = headers.length;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] as string;
    const names = headersByLength[header.length];
    if (names === undefined) continue;
    for (const name of names) {
      if (!isNamed(header, name) || !rawHeaders[index + 1]) continue;
      const own = headers.indexOf(name);
      if (own >= rank) continue;
      rank = own;
      found = rawHeaders[index + 1];
    }
  }
  return found;
}

/** The name of the conversation in a member of the body; undefined without one. */
export function threadOfMembers(call: Said): string | undefined {
  const lengths = keyLengthsOf(call);
  for (const name of members) {
    const found = (lengths & (1 << name.length)) === 0 ? undefined : nameIn(readMember(call, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A bit for each length of a key: most calls have none of the names that are looked for. Lengths beyond 31 have the bits of shorter ones. */
function keyLengthsOf({ members: all }: Said): number {
  let lengths = 0;
  for (const { keyStart, keyEnd } of all) lengths |= 1 << (keyEnd - keyStart);
  return lengths;
}

/** The session and the user that `metadata` names. */
export function threadOfMetadata(call: Said): {
  readonly session?: string | undefined;
  readonly user?: string | undefined;
} {
  const metadata = readMember(call, 'metadata');
  if (!isObject(metadata)) return {};
  return { session: nameIn(metadata['session_id']), user: nameIn(metadata['user_id']) };
}

/** The user, or the session in `metadata`, of a call without a named session. */
function nameOfUser(call: Said): string | undefined {
  const { session, user } = threadOfMetadata(call);
  return session ?? user ?? nameIn(readMember(call, 'user'));
}

/** A name, or an object with an `id` (`conversation` of OpenAI). */
function nameIn(value: unknown): string | undefined {
  const name = isObject(value) ? value['id'] : value;
  return typeof name === 'string' && name !== '' ? name : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The value of a member, unless it is very long. The body was checked to be JSON. */
function readMember(call: Said, name: string): unknown {
  const member = memberNamed(call.body, call.members, name);
  if (member === undefined || member.valueEnd - member.valueStart > longestMember) return undefined;
  return JSON.parse(call.body.toString('utf8', member.valueStart, member.valueEnd));
}

/** The parts of a beginning in one piece, which most have only one of. */
function joined(parts: readonly Buffer[]): Buffer {
  const [first = nothing] = parts;
  return parts.length === 1 ? first : Buffer.concat(parts);
}
