// Records the answer of an attempt that failed (spec: Audit entry, attempts): its body and headers, without keys that a provider quotes.

import type { AttemptRecord } from '../../domain/records/request-record.ts';
import { mark } from '../../schemas/formats/key-shapes.ts';
import { redact } from '../dialects/redact.ts';
import type { AuditSettings } from '../snapshot/snapshot.ts';
import { shownRawHeaders } from './shown-headers.ts';
import { textIn, writeBody } from './written-body.ts';

/** Of one body, and of those of all attempts of a request. Bytes. */
const mostOfBody = 64 * 1024;
const mostOfBodies = 256 * 1024;

/** As much of an answer as came. Absent: nothing did. */
export interface FailedAnswer {
  body?(): Buffer;
  readonly head?: { readonly ofError?: readonly Buffer[] | undefined };
}

interface Attempt {
  readonly target: { readonly upstream: { readonly secrets?: readonly string[] } };
  readonly answer: FailedAnswer | undefined;
}

/** Gives what is recorded of one failed attempt after the other; undefined: nothing is. */
export function failedAnswers({
  hasBodies,
  hasHeaders,
  bodyLimitBytes,
}: AuditSettings): ((attempt: Attempt) => Partial<AttemptRecord>) | undefined {
  if (!hasBodies && !hasHeaders) return undefined;
  let left = mostOfBodies;
  return ({ target, answer }) => {
    const { secrets = [] } = target.upstream;
    const mostBytes = Math.max(0, Math.min(mostOfBody, bodyLimitBytes, left));
    const json = hasBodies && answer !== undefined ? bodyOf(answer, secrets, mostBytes) : undefined;
    left -= json?.length ?? 0;
    const raw = hasHeaders ? answer?.head?.ofError : undefined;
    return {
      ...(json === undefined ? undefined : { response_body: JSON.parse(json) as unknown }),
      ...(raw === undefined ? undefined : { response_headers: cleanHeaders(shownRawHeaders(raw), secrets) }),
    };
  };
}

/** The JSON of the body; undefined: there is none, or it is no text. */
function bodyOf(answer: FailedAnswer, secrets: readonly string[], mostBytes: number): string | undefined {
  const held = answer.body?.() ?? Buffer.alloc(0);
  const part = held.subarray(0, mostOfBody);
  const text = textIn(part);
  if (text === undefined || mostBytes === 0) return undefined;
  // A provider may quote a key in any form.
  const clean = redact(text, secrets).replaceAll('[redacted]', mark);
  const isCut = part.length < held.length;
  return writeBody({ bytes: Buffer.from(clean), isCut, mostBytes, secrets }).json;
}

function cleanHeaders(headers: Record<string, string>, secrets: readonly string[]): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name, redact(value, secrets)]);
  return Object.fromEntries(entries) as Record<string, string>;
}
