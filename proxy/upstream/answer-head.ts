// The few headers of a provider's answer that matter, read from the raw list: most answers have a dozen others, which are not even made
// into text.
import { hasEvent, hasFrame } from '../bytes/events.ts';
import { spells, spellsFolded } from '../bytes/spells.ts';
import { encodingOf } from './decoded-sink.ts';

/** The headers of an answer that the gateway reads. Undefined: the header is absent. */
export interface AnswerHead {
  readonly contentType: string | undefined;
  /** The Content-Encoding in lower case; undefined: the body is not compressed. */
  readonly receivedEncoding: string | undefined;
  readonly contentLength: string | undefined;
  readonly retryAfter: string | undefined;
  readonly retryAfterMs: string | undefined;
  readonly shouldRetry: string | undefined;
  /** The provider's id of the request: `x-request-id`, else `request-id`, Azure's `apim-request-id` or Amazon's `x-amzn-requestid`. */
  readonly requestId: string | undefined;
  /** Where something lies that was made. */
  readonly location: string | undefined;
  /** Headers that clients of the provider read, `request-id` among them, names and values in turn. */
  readonly told: readonly Buffer[] | undefined;
  /** Headers that speak of the provider's own limits, names and values in turn. */
  readonly quota: readonly Buffer[] | undefined;
  /** Headers in which Bedrock counts tokens, and how long it took, names and values in turn. */
  readonly bedrockCounts: readonly Buffer[] | undefined;
  /** An event stream. */
  readonly stream: boolean;
  /** Its events are frames of AWS, not text. */
  readonly isBinary: boolean;
  /** It is an event stream, although none was asked for: it is held like a whole answer, and `stream` is false. */
  readonly heldEvents: boolean;
  /** The end of the body is marked by its framing, not by the connection closing. */
  readonly framed: boolean;
  /** All headers of an answer that is an error, names and values in turn. */
  readonly ofError: readonly Buffer[] | undefined;
}

const sseType = /^text\/event-stream\b/i;
const awsType = /^application\/vnd\.amazon\.eventstream\b/i;
/** Nearly every answer has one of these types, and no text is made of them. */
const usualTypes = ['application/json', 'text/event-stream', 'text/event-stream; charset=utf-8'];

/** A stream's first event is waited for up to this many bytes. */
export const maxFirstBytes = 64 * 1024;

/** Its id of the request, how long the provider took, which version of its API answered, and for which account. */
const toldNames = [
  'request-id',
  'server-timing',
  'openai-version',
  'openai-organization',
  'openai-processing-ms',
  'anthropic-organization-id',
];

/** Beginnings of the names of headers in which vendors tell their own clients how much of a subscription is used. */
export const accountPrefixes = ['anthropic-ratelimit-unified-', 'x-codex-'];
/** Names of headers about limits have these beginnings; but for a few, all are at least so long. */
const quotaPrefixes = ['x-ratelimit-', 'anthropic-ratelimit-', 'x-codex-'];
const longQuotaName = 'x-ratelimit-remaining'.length;
/** All of them are at least as long as that. */
export const bedrockPrefix = 'x-amzn-bedrock-';

/**
 * Reads the headers of an answer, names and values in turn. Compares by the length of a name first, because that
 * excludes nearly all others. Does not throw.
 */
export function readAnswerHead(raw: readonly Buffer[], status: number = 200): AnswerHead {
  let contentType: string | undefined;
  let receivedEncoding: string | undefined;
  let contentLength: string | undefined;
  let retryAfter: string | undefined;
  let retryAfterMs: string | undefined;
  let shouldRetry: string | undefined;
  let requestId: string | undefined;
  let otherId: string | undefined;
  let location: string | undefined;
  let framed = false;
  let quota: Buffer[] | undefined;
  let bedrockCounts: Buffer[] | undefined;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as Buffer;
    const value = raw[index + 1] as Buffer;
    switch (name.length) {
      case 8:
        if (spellsFolded(name, 0, 'location')) location = latin1Of(value);
        break;
      case 10:
        if (spellsFolded(name, 0, 'request-id')) otherId = latin1Of(value);
        break;
      case 11:
        if (spellsFolded(name, 0, 'retry-after')) retryAfter = latin1Of(value);
        break;
      case 12:
        if (spellsFolded(name, 0, 'content-type')) contentType = typeOf(value);
        else if (spellsFolded(name, 0, 'x-request-id')) requestId = latin1Of(value);
        break;
      case 14:
        if (spellsFolded(name, 0, 'content-length')) {
          contentLength = latin1Of(value);
          framed = true;
        } else if (spellsFolded(name, 0, 'retry-after-ms')) retryAfterMs = latin1Of(value);
        else if (spellsFolded(name, 0, 'x-should-retry')) shouldRetry = latin1Of(value);
        break;
      case 15:
        if (spellsFolded(name, 0, 'apim-request-id')) otherId ??= latin1Of(value);
        break;
      case 16:
        if (spellsFolded(name, 0, 'content-encoding')) receivedEncoding = encodingOf(latin1Of(value));
        else if (spellsFolded(name, 0, 'x-amzn-requestid')) otherId ??= latin1Of(value);
        break;
      case 17:
        if (spellsFolded(name, 0, 'transfer-encoding')) framed = true;
        else if (isOfQuota(name)) quota = withPair(quota, name, value);
        break;
      default:
        if (name.length < longQuotaName) break;
        if (isOfQuota(name)) quota = withPair(quota, name, value);
        else if (spellsFolded(name, 0, bedrockPrefix)) bedrockCounts = withPair(bedrockCounts, name, value);
        break;
    }
  }
  const isBinary = contentType !== undefined && awsType.test(contentType);
  const stream = isBinary || (contentType !== undefined && sseType.test(contentType));
  requestId ??= otherId;
  return {
    contentType,
    receivedEncoding,
    contentLength,
    retryAfter,
    retryAfterMs,
    shouldRetry,
    requestId,
    location,
    told: toldOf(raw),
    quota,
    bedrockCounts,
    stream,
    heldEvents: false,
    isBinary,
    framed,
    ofError: status < 400 ? undefined : raw,
  };
}

/** Before a head has come. */
export const noHead: AnswerHead = readAnswerHead([]);

/**
 * Whether an answer can be handed over: the first event of a stream has come, or it is not a stream. `held`: the bytes
 * so far.
 */
export function beginsReadably({ stream, isBinary }: AnswerHead, held: Buffer): boolean {
  if (!stream || held.length > maxFirstBytes) return true;
  return isBinary ? hasFrame(held) : hasEvent(held);
}

/** Those of `toldNames`; undefined: none. */
function toldOf(raw: readonly Buffer[]): Buffer[] | undefined {
  let told: Buffer[] | undefined;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as Buffer;
    for (const known of toldNames) {
      if (name.length === known.length && spellsFolded(name, 0, known))
        told = withPair(told, name, raw[index + 1] as Buffer);
    }
  }
  return told;
}

function isOfQuota(name: Buffer): boolean {
  for (const prefix of quotaPrefixes) if (spellsFolded(name, 0, prefix)) return true;
  return false;
}

function withPair(pairs: Buffer[] = [], name: Buffer, value: Buffer): Buffer[] {
  pairs.push(name, value);
  return pairs;
}

function typeOf(value: Buffer): string {
  for (const usual of usualTypes) if (value.length === usual.length && spells(value, 0, usual)) return usual;
  return latin1Of(value);
}

function latin1Of(value: Buffer): string {
  return value.toString('latin1');
}
