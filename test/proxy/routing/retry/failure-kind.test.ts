// Which failures are tried again, and as what; and when the same target is asked once more.
import { test } from 'tap';
import { refusal, upstreamRefusal } from '../../../../proxy/errors.ts';
import { type Failed, meaningOf } from '../../../../proxy/routing/retry/failure-kind.ts';
import { sameTargetPauseMs } from '../../../../proxy/routing/retry/same-target.ts';
import { noHead } from '../../../../proxy/upstream/answer-head.ts';
import type { UpstreamFailure } from '../../../../proxy/upstream/failure.ts';

function failed(code: UpstreamFailure['failure']['code'], sent: boolean): Failed {
  const failure = { failure: { code, reason: '' }, sent, isStale: false };
  return { refused: refusal(code, { provider: 'p' }), failure };
}

await test('the kind of each failure', async (t) => {
  const words = { message: 'words', code: null, param: null };
  const diagnosis = { kind: 'context_length', trouble: undefined } as const;
  const said = upstreamRefusal(400, 'invalid_request_error', words, { provider: 'p', diagnosis });
  const unusable = refusal('upstream_invalid_response', { provider: 'p' });
  const rows: [name: string, failed: Failed, kind: ReturnType<typeof meaningOf>['kind']][] = [
    ['no connection', failed('upstream_unavailable', false), 'unreachable'],
    ['no such host', failed('upstream_dns', false), 'unreachable'],
    ['no answer in time', failed('upstream_timeout', true), 'timeout'],
    ['a break behind the request', failed('upstream_disconnected', true), 'invalid_answer'],
    ['no HTTP', failed('upstream_invalid_response', true), 'invalid_answer'],
    ['a complete answer that is of no use', { refused: unusable, failure: undefined }, 'invalid_answer'],
    ['an error, by the table of failures', { refused: said, failure: undefined }, 'context_length'],
  ];
  for (const [name, what, kind] of rows) t.equal(meaningOf(what).kind, kind, name);
});

await test('the same target is asked again when nothing was sent, or when it says that it will soon have room', async (t) => {
  const usual = { isQuick: true, isWanted: false, retries: 0, pausedMs: 0 };
  type Case = Partial<typeof usual> & { readonly head?: Partial<typeof noHead>; readonly failure?: UpstreamFailure };
  const pause = (status: number, asked: Case = {}) => {
    const { isQuick, isWanted, retries, pausedMs, head, failure } = { ...usual, ...asked };
    const told = { kind: undefined, failure, status, head: { ...noHead, ...head }, isQuick, isWanted };
    const nowMs = () => Date.UTC(2026, 0, 5);
    return sameTargetPauseMs(told, { retries, pausedMs }, nowMs, () => 0.5);
  };
  const { failure } = failed('upstream_unavailable', false);
  const { failure: sent } = failed('upstream_timeout', true);
  t.same(
    [0, 1, 2].map((retries) => pause(0, { ...(failure && { failure }), retries })),
    [100, 200, 250],
    'pauses grow, and half of a second is left for others',
  );
  t.equal(pause(0, { ...(sent && { failure: sent }) }), undefined);
  t.equal(pause(0, { ...(failure && { failure }), isQuick: false }), undefined, 'not after a connect timeout');
  t.equal(pause(429, { head: { retryAfter: '0.7' } }), 700);
  t.equal(pause(503, { head: { retryAfter: 'Mon, 05 Jan 2026 00:00:01 GMT' } }), 1000);
  t.equal(pause(529, { head: { retryAfter: '9', retryAfterMs: '20' } }), 20, 'milliseconds are more exact');
  t.equal(pause(429, { head: { retryAfter: '2' } }), undefined, 'too late');
  t.equal(pause(429, { head: { retryAfter: '0.7' }, pausedMs: 700 }), undefined, 'too late in all');
  t.equal(pause(429), undefined, 'it does not say when');
  t.equal(pause(500, { head: { retryAfter: '1' } }), undefined);
  t.equal(pause(429, { head: { retryAfter: '1', shouldRetry: 'false' } }), undefined);
});

await test('where the configuration says how many calls are made, a target that failed itself is asked again', async (t) => {
  const pause = (status: number, head: Partial<typeof noHead> = {}, pausedMs = 0) => {
    const kind = status >= 500 ? ('server_error' as const) : ('rate_limit' as const);
    const told = { kind, failure: undefined, status, head: { ...noHead, ...head }, isQuick: true, isWanted: true };
    return sameTargetPauseMs(told, { retries: 0, pausedMs }, Date.now, () => 0.5);
  };
  t.same(
    [500, 502, 503, 504, 529].map((status) => pause(status)),
    [100, 100, 100, 100, 100],
  );
  t.equal(pause(503, { retryAfter: '2' }), undefined, 'it says that this is too early');
  t.equal(pause(500, { shouldRetry: 'false' }), undefined);
  t.equal(pause(500, {}, 990), 2.5, 'all pauses are a second at most');
  t.same(
    [429, 401, 400].map((status) => pause(status)),
    [undefined, undefined, undefined],
  );
});
