// The figures of a revision, and when they are beyond the limits of its rollout.
import { test } from 'tap';
import {
  beyondLimits,
  figuresOf,
  firstByteBounds,
  limitsOf,
  noCounts,
  sumCounts,
} from '../../../domain/config-rollouts/figures.ts';

const limits = limitsOf({ abort_if: { error_share: '5%', refusals: '10%', p95: '2s', min_requests: 50 } });

/** `count` answers that began within the bound. */
function within(boundMs: number, count: number): number[] {
  return noCounts.firstBytes.map((_, index) => (firstByteBounds[index] === boundMs ? count : 0));
}

await test('shares are of the requests of all proxies together, and none of no requests', async (t) => {
  const one = { requests: 30, errors: 3, refusals: 0, firstBytes: within(100, 27) };
  const other = { requests: 70, errors: 1, refusals: 7, firstBytes: within(2_000, 62) };
  t.match(figuresOf(sumCounts([one, other])), { requests: 100, errors: 4, errorShare: 0.04, refusalShare: 0.07 });
  t.same(figuresOf(noCounts), {
    requests: 0,
    errors: 0,
    refusals: 0,
    errorShare: null,
    refusalShare: null,
    p95Ms: null,
  });
});

await test('the p95 lies within the bucket of the answer that 95 of 100 are not slower than', async (t) => {
  t.equal(figuresOf({ ...noCounts, firstBytes: within(200, 100) }).p95Ms, 195);
  const mixed = within(100, 95).map((count, index) => count + (within(3_000, 5)[index] ?? 0));
  t.equal(figuresOf({ ...noCounts, firstBytes: mixed }).p95Ms, 100, 'five of a hundred may be slow');
  const beyond = noCounts.firstBytes.map((_, index) => (index === firstByteBounds.length ? 10 : 0));
  t.equal(figuresOf({ ...noCounts, firstBytes: beyond }).p95Ms, 60_000, 'the last bound');
});

await test('a limit is exceeded above it, and with enough requests', async (t) => {
  const counts = { ...noCounts, requests: 100 };
  t.equal(beyondLimits({ ...counts, errors: 5 }, limits), undefined, 'exactly the limit');
  t.equal(beyondLimits({ ...counts, errors: 6 }, limits), 'error_share was 6 % of 100 requests, the limit is 5 %');
  t.equal(beyondLimits({ ...counts, requests: 49, errors: 49 }, limits), undefined, 'too few requests');
  t.match(beyondLimits({ ...counts, refusals: 11 }, limits), 'refusals were 11 %');
  t.match(beyondLimits({ ...counts, firstBytes: within(3_000, 100) }, limits), 'p95 of 100 answers was 2950 ms');
  t.equal(beyondLimits({ ...counts, firstBytes: within(3_000, 20) }, limits), undefined, 'too few answers');
});

await test('without a limit nothing is beyond it', async (t) => {
  const open = limitsOf({ abort_if: { error_share: '100%', min_requests: 1 } });
  const worst = { requests: 10, errors: 10, refusals: 10, firstBytes: within(60_000, 10) };
  t.equal(beyondLimits(worst, open), undefined);
});
