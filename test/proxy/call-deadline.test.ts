// How long the first event of a stream is waited for, with and without another target to ask.
import { test } from 'tap';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import { CallDeadline } from '../../proxy/upstream/call-deadline.ts';
import type { Patience } from '../../proxy/upstream/patience.ts';
import type { ProviderTimeouts } from '../../schemas/types.ts';
import { sampleConfig } from './sample-config.ts';

const patienceOf = (timeouts: ProviderTimeouts): Patience => {
  const config = sampleConfig({ providers: { p: { timeouts } } });
  return compile(config, '', credentialsOf(undefined, [])).upstreams[0]?.patience as Patience;
};
const long = { connect: '5s', first_byte: '600s', stream_idle: '120s', total: '600s', usage_drain: '5s' };

/** The moments at which a call that gets nothing looks around, and when it gives up, in milliseconds after it was sent. */
function ending(patience: Patience, hasNext: (() => boolean) | undefined, hasHead = false, isStream = true): number[] {
  const clock = { coarseNowMs: 1_000, add: () => undefined, remove: () => undefined };
  const facts = { latestMs: 1e9, needsEvent: true, isFresh: false, isStream, mostHeldBytes: 0, hasNext };
  const moments: number[] = [];
  const state = { isOver: false };
  const call = {
    late(): void {
      state.isOver = true;
    },
    staysQuiet: () => undefined,
  };
  const deadline = new CallDeadline(patience, clock, facts, call);
  deadline.sent();
  if (hasHead) deadline.awaitFirstEvent();
  while (!state.isOver) {
    clock.coarseNowMs = deadline.deadlineMs;
    moments.push(deadline.deadlineMs - 1_000);
    deadline.expire();
  }
  return moments;
}

await test('the first event of a stream has 30 s while another target can be asked, and first_byte when none can', async (t) => {
  const usual = patienceOf(long);
  for (const hasHead of [false, true]) {
    t.same(
      ending(usual, () => true, hasHead),
      [30_000],
    );
    t.same(ending(usual, undefined, hasHead), [600_000], 'the last target');
    t.same(
      ending(usual, () => false, hasHead),
      [30_000, 600_000],
      'the others cannot be asked at that moment',
    );
  }
  t.same(
    ending(usual, () => true, false, false),
    [600_000],
    'an answer that is no stream',
  );
  t.same(
    ending(patienceOf({ ...long, first_byte: '8s' }), () => true),
    [8_000],
    'first_byte is shorter',
  );
});

await test('timeouts.first_event says another time, for every target', async (t) => {
  const short = patienceOf({ ...long, first_event: '300ms' });
  t.same(
    ending(short, () => true),
    [300],
  );
  t.same(ending(short, undefined), [300]);
  t.same(
    ending(patienceOf({ ...long, first_event: '90s' }), () => true),
    [90_000],
  );
});
