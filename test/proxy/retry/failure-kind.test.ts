// Which failures are tried again, and as what; and when the same target is asked once more.
import { test } from 'tap';
import { refusal, upstreamRefusal } from '../../../proxy/errors.ts';
import { type Failed, failureKind } from '../../../proxy/retry/failure-kind.ts';
import { sameTargetPauseMs } from '../../../proxy/retry/same-target.ts';
import { noHead } from '../../../proxy/upstream/answer-head.ts';
import type { UpstreamFailure } from '../../../proxy/upstream/failure.ts';

const said = (status: number, code: string | null = null, message = 'words'): Failed => ({
  refused: upstreamRefusal(status, 'provider_error', { message, code, param: null }, { provider: 'p' }),
  failure: undefined,
  status,
  stream: false,
});

function failed(code: UpstreamFailure['failure']['code'], sent: boolean, stream = false): Failed {
  const failure = { failure: { code, reason: '' }, sent, isStale: false };
  return { refused: refusal(code, { provider: 'p' }), failure, status: 0, stream };
}

await test('the kind of each failure', async (t) => {
  const rows: [name: string, failed: Failed, kind: ReturnType<typeof failureKind>][] = [
    ['no connection', failed('upstream_unavailable', false), 'connect'],
    ['no such host', failed('upstream_dns', false), 'connect'],
    ['no answer in time', failed('upstream_timeout', true), 'timeout'],
    ['a break behind the request', failed('upstream_disconnected', true), undefined],
    ['a stream that breaks before its first event', failed('upstream_disconnected', true, true), 'invalid_answer'],
    ['no HTTP', failed('upstream_invalid_response', true), 'invalid_answer'],
    ['429', said(429), 'rate_limit'],
    ['500', said(500), 'server_error'],
    ['529', said(529), 'server_error'],
    ['our key', { ...said(401), refused: refusal('upstream_unauthorized', { provider: 'p' }) }, 'unauthorized'],
    ['an error in a 200', { ...said(502), status: 200 }, 'invalid_answer'],
    ['a wrong request', said(400), undefined],
    ['a wrong parameter', said(400, 'unsupported_parameter', 'x is not supported by this model'), undefined],
    ['a missing model by code', said(400, 'model_not_found'), 'model_unavailable'],
    ['a missing model by words', said(404, null, 'The model `m` does not exist'), 'model_unavailable'],
    ['something else missing', said(404, null, 'No such file'), undefined],
  ];
  for (const [name, what, kind] of rows) t.equal(failureKind(what), kind, name);
});

await test('the same target is asked again when nothing was sent, or when it says that it will soon have room', async (t) => {
  const pause = (status: number, head: Partial<typeof noHead>, failure?: UpstreamFailure, before = 0) => {
    const answered = { failure, status, head: { ...noHead, ...head }, isQuick };
    return sameTargetPauseMs(
      answered,
      before,
      () => Date.UTC(2026, 0, 5),
      () => 0.5,
    );
  };
  let isQuick = true;
  const { failure: unsent } = failed('upstream_unavailable', false);
  const { failure: sent } = failed('upstream_timeout', true);
  t.same(
    [0, 1, 2, 9].map((before) => pause(0, {}, unsent, before)),
    [100, 200, 400, 1000],
    'pauses grow',
  );
  t.equal(pause(0, {}, sent), undefined);
  t.equal(pause(429, { retryAfter: '1.5' }), 1500);
  t.equal(pause(503, { retryAfter: 'Mon, 05 Jan 2026 00:00:01 GMT' }), 1000);
  t.equal(pause(529, { retryAfter: '9', retryAfterMs: '20' }), 20, 'milliseconds are more exact');
  t.equal(pause(429, { retryAfter: '3' }), undefined, 'too late');
  t.equal(pause(429, {}), undefined, 'it does not say when');
  t.equal(pause(500, { retryAfter: '1' }), undefined);
  t.equal(pause(429, { retryAfter: '1', shouldRetry: 'false' }), undefined);
  isQuick = false;
  t.equal(pause(0, {}, unsent), undefined, 'not after a connect timeout');
});
