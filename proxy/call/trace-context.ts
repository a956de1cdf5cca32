// The trace that a request belongs to: read from the client's headers and written for providers (W3C Trace Context).
import { isNamed } from './head.ts';

/** The content of a client's `traceparent` and `tracestate`. */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits: the client's span. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** The trace id is random, as far as its author says. */
  readonly isRandom: boolean;
  /** `tracestate` as it is passed on; undefined: there is none, or it is not valid. */
  readonly state: string | undefined;
}

/** The id and the model that an answer names; undefined: not readable. */
export interface AnswerNames {
  readonly id: string | undefined;
  readonly model: string | undefined;
}

/** The trace of one request as this gateway continues or begins it. */
export interface RequestTrace {
  readonly traceId: string;
  /** Of the request here. */
  readonly spanId: string;
  /** Undefined: the trace begins here. */
  readonly parent: TraceContext | undefined;
  /** Its spans are exported. */
  readonly isSampled: boolean;
  /** Of the answer that was relayed; set when it has begun. */
  answer: AnswerNames | undefined;
}

const parentFormat = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const zeros = /^0+$/;
const sampledFlag = 1;
const randomFlag = 2;
/** Longest `tracestate` that is passed on. Characters; the standard asks for at least 512. */
const longestState = 512;
const mostMembers = 32;
const stateMember =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** The trace that a client names in its raw header list; undefined: none, two, or one that is not valid. */
export function readTraceContext(raw: readonly string[]): TraceContext | undefined {
  let parent: string | undefined;
  let state: string | undefined;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    if (name.length === 11 && isNamed(name, 'traceparent')) {
      if (parent !== undefined) return undefined;
      parent = raw[index + 1] as string;
    } else if (name.length === 10 && isNamed(name, 'tracestate')) {
      state = state === undefined ? (raw[index + 1] as string) : `${state},${raw[index + 1] as string}`;
    }
  }
  const [, version, traceId = '', spanId = '', flagText = '', further] = parentFormat.exec(parent ?? '') ?? [];
  if (version === undefined || version === 'ff' || zeros.test(traceId) || zeros.test(spanId)) return undefined;
  // Later versions may say more behind the flags.
  if (version === '00' && further !== undefined) return undefined;
  const flags = Number.parseInt(flagText, 16);
  return {
    traceId,
    spanId,
    isSampled: (flags & sampledFlag) !== 0,
    isRandom: (flags & randomFlag) !== 0,
    state: state === undefined ? undefined : validState(state),
  };
}

/** Puts the trace into the headers of a request to a provider (names and values in turn), in place of what is there. `spanId`: of that request. */
export function writeTraceContext(
  headers: string[],
  { traceId, isSampled, parent }: RequestTrace,
  spanId: string,
): void {
  for (let index = headers.length - 2; index >= 0; index -= 2) {
    const name = headers[index] as string;
    if (isNamed(name, 'traceparent') || isNamed(name, 'tracestate')) headers.splice(index, 2);
  }
  const flags = (isSampled ? sampledFlag : 0) | (parent === undefined || parent.isRandom ? randomFlag : 0);
  headers.push('traceparent', `00-${traceId}-${spanId}-0${flags}`);
  if (parent?.state !== undefined) headers.push('tracestate', parent.state);
}

/** Undefined: a member is not valid, or they are too many. Empty members are allowed, and left out. */
function validState(text: string): string | undefined {
  if (text.length > longestState) return undefined;
  const members = text
    .split(',')
    .map((member) => member.replaceAll(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '');
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))));
  const isValid = members.every((member) => stateMember.test(member)) && keys.size === members.length;
  return isValid && members.length > 0 && members.length <= mostMembers ? members.join(',') : undefined;
}
