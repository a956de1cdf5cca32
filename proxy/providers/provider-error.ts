// Maps a provider's error answer for the client: status and type by one table, the provider's words without its secrets.
import type { Diagnosis } from '../../domain/targets/failure-kind.ts';
import { errorTypeOf, errorTypes } from '../../schemas/error-type.ts';
import { withoutKeys } from '../../schemas/formats/key-shapes.ts';
import { dataOf, hasEvent, hasFrame } from '../bytes/events.ts';
import { skipSpace } from '../bytes/json-tokens.ts';
import { scanObject } from '../bytes/scan.ts';
import type { ProviderWords } from '../dialects/dialect.ts';
import { redact, redactValue } from '../dialects/redact.ts';
import { statusSaid } from '../dialects/said-status.ts';
import { mayNameError } from '../dialects/stream-secrets.ts';
import { type Refusal, refusal, upstreamRefusal } from '../errors.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import type { WholeAnswer } from '../upstream/read-whole.ts';
import { retryHeaders } from '../upstream/retry-headers.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import { diagnose, statusOfKind } from './failures/diagnose.ts';
import { providerHeaders, type ToldHead } from './upstream-id.ts';

/**
 * Statuses with the same meaning at every provider; for others the provider's own type may decide, if it is one of
 * ours.
 */
const clear: ReadonlySet<number> = new Set([403, 404, 429]);

/** Of an error in an answer of success that does not say what kind it is. */
const unsaidStatus = 502;

/** Longest message of a provider that is passed on, in characters. */
const maxMessage = 2000;
/** A framed body up to this many bytes is checked for its full grammar. */
const mostChecked = 8 * 1024;
/** The number of bytes of a body that are searched for an error. Translated answers may be much longer. */
const mostOfError = 64 * 1024;
const isJson = /\bjson\b/i;
/** An answer to a browser, whether its type says so or its text does. */
const isPage = /\b(html|xml)\b/i;
const beginsLikePage = /^\s*<(!doctype|html|head|body|\?xml)/i;
/** An error object that is longer than what is held, or broken. */
const beginsLikeError = /^\s*\{\s*"error"\s*:\s*["{[]/;
/** Within a text its quotes would be escaped. */
const errorKey = Buffer.from('"error"');
const pageTitle = /<title[^>]{0,200}>([^<]{1,200})</i;

/** The facts of a provider that its errors need. */
export interface Speaker {
  readonly name: string;
  /** The secrets that no answer may contain, longest first. */
  readonly secrets: readonly string[];
  /** `given`: it is asked with the credential of the client, so what it says of that is for the client; absent: with a key of the gateway. */
  readonly clientAuth?: 'none' | 'needed' | 'given' | undefined;
  /** Its own words in the text of an error body, its secrets still in them. */
  readonly readError: (text: string) => ProviderWords;
}

/** The provider failed to answer completely: the table entry, naming the provider. `head`: what came of the answer's. */
export function failureRefusal(
  { failure }: Pick<UpstreamFailure, 'failure'>,
  speaker: Pick<Speaker, 'name' | 'secrets' | 'clientAuth'>,
  head: ToldHead,
): Refusal {
  const headers = providerHeaders(head, speaker);
  return refusal(failure.code, { provider: speaker.name, fill: { reason: failure.reason }, headers });
}

/**
 * Reads an answer as an error: a status of 400 or more, a status a model endpoint cannot pass on, a body that is neither JSON
 * nor an event stream, an empty stream, or a stream whose first event is an error. Undefined when it is a usable answer.
 * `nowMs`: Unix milliseconds.
 */
export function rejectionOf(answer: UpstreamAnswer, speaker: Speaker, nowMs: () => number): Refusal | undefined {
  const { status } = answer;
  if (status >= 400 && status < 600) return spoken(status, errorTextOf(answer), answer, { speaker, nowMs });
  if (status < 200 || status >= 300 || status === 204) return invalid(answer, speaker, `its status is ${status}`);
  const body = answer.body();
  const { stream, heldEvents, isBinary, contentType = '' } = answer.head;
  if (heldEvents)
    return answer.complete ? undefined : invalid(answer, speaker, 'it is a stream, and too long to be made whole');
  if (stream && body.length === 0) return invalid(answer, speaker, 'the stream is empty');
  if (stream && answer.complete && !(isBinary ? hasFrame : hasEvent)(body)) {
    return invalid(answer, speaker, 'the stream ends before its first event');
  }
  if (!stream && !isJson.test(contentType)) return invalid(answer, speaker, 'it is not JSON');
  if (!stream && !isWhole(answer, body)) return invalid(answer, speaker, 'it is not a complete JSON object');
  const seen = stream ? body.subarray(0, 256) : body;
  // Nearly every successful answer ends here.
  if (!mayNameError(seen) || !seen.includes(errorKey)) return undefined;
  return errorInside(answer, { speaker, nowMs });
}

/** The refusal for the error with which a stream begins. */
export function openingRejection(
  said: ProviderWords,
  answer: Described,
  speaker: Speaker,
  nowMs: () => number,
): Refusal {
  const { code, type, further } = said;
  return spokenWords(statusSaid({ code, type, status: further['status'] }), said, answer, {
    speaker,
    nowMs,
    isWithin: true,
  });
}

/**
 * The refusal for an answer that was read whole: any status but those of success, and a body that is not JSON.
 * Undefined: it is a success.
 */
export function wholeRejection(
  { status, head, body }: Pick<WholeAnswer, 'status' | 'head' | 'body'>,
  speaker: Speaker,
  nowMs: () => number,
): Refusal | undefined {
  const answer = { head, contentType: head.contentType };
  if (status >= 400 && status < 600) return spoken(status, body.toString('utf8'), answer, { speaker, nowMs });
  if (status < 200 || status >= 300) return invalid(answer, speaker, `its status is ${status}`);
  return status === 204 || isJson.test(head.contentType ?? '') ? undefined : invalid(answer, speaker, 'it is not JSON');
}

/**
 * The refusal for an opaque answer, by its status alone. `isPassed`: the client addresses the provider itself, so every
 * status is for it, except one that refuses the key of the gateway. Undefined: it is relayed.
 */
export function statusRejection(
  answer: UpstreamAnswer,
  { speaker, nowMs, isPassed }: Speaking & { readonly isPassed: boolean },
): Refusal | undefined {
  const { status } = answer;
  if (status >= 400 && status < 600) return spoken(status, errorTextOf(answer), answer, { speaker, nowMs, isPassed });
  const isRelayed = status >= 200 && status < (isPassed ? 400 : 300);
  return isRelayed || status === 304 ? undefined : invalid(answer, speaker, statusWords(status));
}

function statusWords(status: number): string {
  return status >= 300 && status < 400 ? `it redirects elsewhere (status ${status})` : `its status is ${status}`;
}

/** The facts of an answer besides its body. */
type Described = Pick<UpstreamAnswer, 'head' | 'contentType'>;

/** Where a provider's words come from, and when. */
interface Speaking {
  readonly speaker: Speaker;
  readonly nowMs: () => number;
  /** Every status but 401 is about what the client asks, whatever it says; absent: 400 and 403 may be about the key of the gateway. */
  readonly isPassed?: boolean;
  /** The error stands in an answer of success. */
  readonly isWithin?: boolean;
}

/** The held body as text; for a stream, the data of its first event. */
function errorTextOf(answer: UpstreamAnswer): string {
  const text = answer.body().subarray(0, mostOfError);
  return (answer.stream && dataOf(text).split('\n', 1)[0]) || text.toString('utf8');
}

function spoken(status: number | undefined, text: string, answer: Described, speaking: Speaking): Refusal {
  return spokenWords(status, speaking.speaker.readError(text), answer, speaking);
}

/** `namedStatus`: of the answer, or of an error within one of success; undefined: such an error names none. */
function spokenWords(
  namedStatus: number | undefined,
  said: ProviderWords,
  answer: Described,
  { speaker, nowMs, isPassed = false, isWithin = false }: Speaking,
): Refusal {
  const { name: provider, secrets, clientAuth } = speaker;
  const meant = diagnose({ status: namedStatus, words: said });
  const diagnosis = clientAuth === 'given' ? ofOneClient(meant) : meant;
  const knownStatus = namedStatus ?? statusOfKind(diagnosis.kind);
  const saidStatus = isWithin ? knownStatus : undefined;
  const status = knownStatus ?? unsaidStatus;
  const clean = (words: string): string => redact(words, secrets).trim().slice(0, maxMessage);
  if (diagnosis.trouble === 'key_refused' && (status === 401 || !isPassed)) {
    const reason = clean(readable(said.message, status, answer));
    return keyRefused(answer, { provider, secrets, status, reason, saidStatus, diagnosis });
  }
  const own = errorTypes.find((known) => known === said.type);
  const type = clear.has(status) ? errorTypeOf(status) : (own ?? errorTypeOf(status));
  const foreign = said.type === null || said.type === type ? {} : { provider_type: clean(said.type) };
  return upstreamRefusal(
    status,
    type,
    {
      message: clean(readable(said.message, status, answer)) || `The provider answered with status ${status}.`,
      // It stands in logs and records.
      code: said.code === null ? null : withoutKeys(clean(said.code)),
      param: said.param === null ? null : clean(said.param),
    },
    {
      provider,
      headers: {
        ...retryHeaders(answer.head, status, nowMs, diagnosis.waitMs),
        ...providerHeaders(answer.head, speaker, isPassed),
      },
      further: { ...furtherMembers(said.further, secrets), ...foreign },
      saidStatus,
      diagnosis: isPassed && diagnosis.trouble === 'key_refused' ? { ...diagnosis, trouble: undefined } : diagnosis,
    },
  );
}

/**
 * What an error means where the credential is the client's own. Of its login and account the client is told, because only its user can do
 * something about them: no other target is asked at the cost of others, and nothing is remembered of the target.
 */
function ofOneClient(diagnosis: Diagnosis): Diagnosis {
  const { kind, waitMs } = diagnosis;
  return { kind: kind === 'account' ? undefined : kind, trouble: undefined, waitMs };
}

/** What an error means beyond its words. */
type Meaning = Pick<Refusal, 'saidStatus' | 'diagnosis'>;

/** It is our key, not the client's: for the client the provider is broken, and trying again does not help. */
function keyRefused(
  { head }: Described,
  {
    provider,
    secrets,
    status,
    reason,
    ...meaning
  }: { provider: string; secrets: readonly string[]; status: number; reason: string } & Meaning,
): Refusal {
  const headers = { 'x-should-retry': 'false', ...providerHeaders(head, { secrets }) };
  return refusal('upstream_unauthorized', {
    provider,
    fill: { status, reason: reason.replace(/[.\s]+$/, '') || 'no reason given' },
    headers,
    ...meaning,
  });
}

/** A page that was meant for a browser becomes a sentence with its title. */
function readable(message: string, status: number, { contentType = '' }: Described): string {
  const isMarkup = beginsLikePage.test(message) || (isPage.test(contentType) && message.trimStart().startsWith('<'));
  if (!isMarkup) return message;
  const title = pageTitle.exec(message)?.[1]?.replace(/\s+/g, ' ').trim();
  const sentence = `The provider answered with an HTML page, status ${status}`;
  return title ? `${sentence}: ${title}` : `${sentence}.`;
}

/** Whether a held body is an object with members. Of a long one the full grammar is checked only where the framing proves nothing. */
function isWhole(answer: UpstreamAnswer, body: Buffer): boolean {
  if (!answer.complete) return true;
  if (answer.head.framed) return opensAndCloses(body) && (body.length > mostChecked || isJsonText(body));
  try {
    return scanObject(body).length > 0;
  } catch {
    return false;
  }
}

/** To parse it takes 2 µs for 1 KB, less than to scan it. */
function isJsonText(body: Buffer): boolean {
  try {
    JSON.parse(body.toString('latin1'));
    return true;
  } catch {
    return false;
  }
}

/** Begins with a brace and the quote of a first key, and ends with a brace. */
function opensAndCloses(body: Buffer): boolean {
  const first = skipSpace(body, 0);
  let last = body.length - 1;
  while (isSpace(body[last])) last -= 1;
  return body[first] === 0x7b && body[last] === 0x7d && body[skipSpace(body, first + 1)] === 0x22;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** An error object sent with a status of success: the whole body, or the first event of a stream. */
function errorInside(answer: UpstreamAnswer, speaking: Speaking): Refusal | undefined {
  const text = errorTextOf(answer);
  let members: Record<string, unknown>;
  try {
    const value: unknown = JSON.parse(text);
    // Google sends a list of one error.
    members = ((Array.isArray(value) ? value[0] : value) ?? {}) as Record<string, unknown>;
  } catch {
    return beginsLikeError.test(text)
      ? invalid(answer, speaking.speaker, 'it is an error that cannot be read')
      : undefined;
  }
  const { object, choices, data } = members;
  const error = object === 'error' ? members : members['error'];
  if (!error || hasEntries(choices) || hasEntries(data) || isEmpty(error)) return undefined;
  return spoken(statusSaid(error), text, answer, { ...speaking, isWithin: true });
}

function hasEntries(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** An answer that a client could not use. */
export function invalid(
  { head }: Pick<UpstreamAnswer, 'head'>,
  upstream: Pick<Speaker, 'name' | 'secrets' | 'clientAuth'>,
  reason: string,
): Refusal {
  const failure = { code: 'upstream_invalid_response', reason } as const;
  return failureRefusal({ failure }, upstream, head);
}

/** Most that further members of an error may take in the answer, in characters of JSON. */
const maxFurther = 8_192;

/** Members that are the envelope's own, or that runtimes of clients may stumble over. */
const ownMembers = new Set(['code', 'message', 'param', 'type', 'provider', 'provider_type', '__proto__']);

/** The further members without the provider's secrets; members that no longer fit are left out. */
function furtherMembers(given: Readonly<Record<string, unknown>>, secrets: readonly string[]): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  let room = maxFurther;
  for (const [name, value] of Object.entries(given)) {
    const [key, clean] = [redact(name, secrets), redactValue(value, secrets)];
    const size = JSON.stringify([key, clean]).length;
    if (ownMembers.has(key) || size > room) continue;
    room -= size;
    kept.push([key, clean]);
  }
  return Object.fromEntries(kept);
}
