// Answers of a provider as they stand when they are handed over, and what they are refused with.

import { credentialsOf } from '../../domain/keys/credentials.ts';
import { readError } from '../../proxy/dialects/chat/read/read-error.ts';
import { rejectionOf } from '../../proxy/providers/provider-error.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import type { Upstream } from '../../proxy/snapshot/snapshot.ts';
import { createDeadlines } from '../../proxy/upstream/deadlines.ts';
import { UpstreamAnswer } from '../../proxy/upstream/upstream-answer.ts';
import { sampleConfig } from './sample-config.ts';
import { patience } from './short-patience.ts';

export const nowMs = (): number => performance.now();

const idle = createDeadlines(() => 0);
export const upstream = compile(
  sampleConfig({ providers: { p: { api_key: 'canary+key/1234', headers: { 'X-Org': 'canary-org' } } } }),
  '',
  credentialsOf(undefined, []),
).upstreams[0] as Upstream;

/** An answer as it stands when it is handed over: its head, and all or the first of its body. */
export function answerOf(
  status: number,
  headers: Record<string, string>,
  body: string | Buffer,
  complete = true,
): UpstreamAnswer {
  const answer = new UpstreamAnswer(patience, idle, {
    latestMs: Number.POSITIVE_INFINITY,
    needsEvent: false,
    isFresh: false,
    isStream: false,
    mostHeldBytes: 64 * 1024,
  });
  const raw = Object.entries(headers)
    .flat()
    .map((part) => Buffer.from(part, 'latin1'));
  answer.onHeaders(status, raw, () => undefined);
  if (body.length > 0) answer.onData(Buffer.from(body));
  answer.passRead();
  if (complete) answer.onComplete();
  return answer;
}

export const json = { 'Content-Type': 'application/json', 'Content-Length': '1' };
export const sse = { 'content-type': 'text/event-stream; charset=utf-8', 'transfer-encoding': 'chunked' };
/** 21 Oct 2026, 07:28:00 UTC. */
export const wednesdayMs = 1_792_567_680_000;
export const refusalOf = (status: number, body: string | Buffer, headers: Record<string, string> = json) =>
  rejectionOf(answerOf(status, headers, body), { ...upstream, readError }, () => wednesdayMs);
export const said = (error: unknown): string => JSON.stringify({ error });
