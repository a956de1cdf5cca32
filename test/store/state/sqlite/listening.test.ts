// When a process looks for notices of others: while it holds something, or waits for room.
import { test } from 'tap';
import type { LimitAnswer, LimitGroup, LimitItem } from '../../../../domain/limits/exchange.ts';
import { Listening } from '../../../../store/state/sqlite/listening.ts';
import { exchangeMessage, limitGroup, limitItem } from '../../../support/limit-messages.ts';

function take(
  listening: Listening,
  item: Partial<LimitItem>,
  given: Partial<LimitAnswer>,
  groups: LimitGroup[] = [],
): void {
  const answer = {
    granted: 0,
    spare: 0,
    free: 0,
    used: 0,
    others: 0,
    othersOpen: 0,
    freeInMs: 0,
    recallMs: 0,
    oldest: -1,
    newest: -1,
    ...given,
  };
  const done = { status: 'done', sequence: 1, now: 1, live: 1, rank: 0, recovering: false } as const;
  const message = exchangeMessage(1, { items: [limitItem('k', item)], groups });
  listening.take(message, { ...done, answers: [answer], admitted: groups.map(() => 0) });
}

await test('while something is held, under any counter', (t) => {
  const listening = new Listening();
  t.equal(listening.isNeeded(20), false);
  take(listening, { key: 'a', held: 1 }, {});
  take(listening, { key: 'b' }, { granted: 1 });
  take(listening, { key: 'a' }, {});
  t.equal(listening.isNeeded(20), true);
  take(listening, { key: 'b' }, {});
  t.equal(listening.isNeeded(20), false);
  take(listening, { held: 1 }, {});
  listening.begin();
  t.equal(listening.isNeeded(20), false, 'another session holds nothing yet');
  t.end();
});

await test('while room is waited for: until it is there for sure, or for a second', (t) => {
  const listening = new Listening();
  const left = (): number => {
    let times = 0;
    while (listening.isNeeded(100)) times += 1;
    return times;
  };
  take(listening, {}, { freeInMs: 3_000 });
  t.equal(left(), 29);
  take(listening, {}, { freeInMs: -1 }, [limitGroup(1, [0])]);
  t.equal(left(), 9);
  take(listening, { wish: 4 }, {});
  t.equal(left(), 9);
  take(listening, {}, {}, [limitGroup(1, [0])]);
  t.equal(left(), 9, 'nothing is granted while the store recovers');
  take(listening, {}, {});
  t.equal(left(), 0);
  t.end();
});
