// What comes compressed in spite of our wish is unpacked before it is read, within bounds, with every status.
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { test } from 'tap';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { readError } from '../../proxy/dialects/chat/read/read-error.ts';
import type { Refusal } from '../../proxy/errors.ts';
import { failureRefusal, rejectionOf } from '../../proxy/providers/provider-error.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import type { Upstream } from '../../proxy/snapshot/snapshot.ts';
import { createDeadlines } from '../../proxy/upstream/deadlines.ts';
import { UpstreamAnswer } from '../../proxy/upstream/upstream-answer.ts';
import { extent } from '../support/extent.ts';
import { sampleConfig } from './sample-config.ts';
import { patience } from './short-patience.ts';

const idle = createDeadlines(() => 0);
const upstream = compile(
  sampleConfig({ providers: { p: { api_key: 'canary+key/1234', headers: { 'X-Org': 'canary-org' } } } }),
  '',
  credentialsOf(undefined, []),
).upstreams[0] as Upstream;

/** An answer as it stands when it is handed over: its head, and all or the first of its body. */
function answerOf(
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

const json = { 'Content-Type': 'application/json', 'Content-Length': '1' };
const said = (error: unknown): string => JSON.stringify({ error });
/** The same once it is unpacked. */
const unpacked = (status: number, body: string | Buffer, headers: Record<string, string> = json) =>
  new Promise<Refusal | undefined>((resolve) => {
    const answer = answerOf(status, headers, body);
    const read = () => rejectionOf(answer, { ...upstream, readError }, () => 0);
    answer.whenReady((failure) => resolve(failure ? failureRefusal(failure, upstream, answer.head) : read()));
  });
const noWords = 'The provider answered with status 500.';

await test('what is compressed in spite of our wish is read, within bounds', async (t) => {
  const plain = Buffer.from(said({ message: 'no canary-org', code: 'c' }));
  const encodings: Record<string, Buffer> = {
    gzip: gzipSync(plain),
    'X-GZIP': gzipSync(plain),
    deflate: deflateSync(plain),
    'deflate ': deflateRawSync(plain),
    br: brotliCompressSync(plain),
    zstd: zstdCompressSync(plain),
    identity: plain,
  };
  for (const [encoding, body] of Object.entries(encodings)) {
    const headers = { ...json, 'content-encoding': encoding };
    t.match(await unpacked(429, body, headers), { status: 429, message: 'no [redacted]', code: 'c' }, encoding);
    t.match(await unpacked(200, body, headers), { status: 502, message: 'no [redacted]' }, encoding);
  }
  for (const status of [200, 502])
    t.match(await unpacked(status, gzipSync(plain)), { status: 502, message: 'no [redacted]' }, 'not named');
  const zip = { ...json, 'content-encoding': 'gzip' };
  const bomb = gzipSync(Buffer.alloc(extent(50, 32) * 1024 * 1024, 'a'));
  const before = process.memoryUsage().rss;
  t.match(await unpacked(500, bomb.subarray(0, 65_536), zip), { status: 500 });
  t.equal((await unpacked(500, '\u001f\u008b\b', zip))?.message, noWords, 'what cannot be unpacked is not shown');
  t.ok(process.memoryUsage().rss - before < 16 * 1024 * 1024, 'a bomb does not go off');
  for (const odd of ['gzip, br', 'toString', 'aws-chunked']) {
    t.equal((await unpacked(500, plain, { 'content-encoding': odd }))?.message, noWords, odd);
    t.match(await unpacked(200, plain, { 'content-encoding': odd }), { code: 'upstream_invalid_response' }, odd);
  }
});
