// The contract of the state store about turns, as cases for any engine.
import { waitFor } from '../support/wait-for.ts';
import type { Case } from './state-store-case-tools.ts';

/** Longer than a case takes, in milliseconds. */
const longMs = 600_000;

export const turnCases: Readonly<Record<string, Case>> = {
  async 'of several processes one has a turn, until it ends; the others see how it ended'(t, engine) {
    const place = await engine.start(t);
    const [one, other] = [place.store.turns, place.open().turns];
    const turn = (holder: string) => ({ name: 'quote " 漢', holder });
    const times = { everyMs: 0, lifeMs: longMs };
    const taken = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other).take(turn(`proxy:${index}`), times)),
    );
    const winners = [...taken.keys()].filter((index) => taken[index]?.isTaken);
    t.equal(winners.length, 1);
    const holder = `proxy:${winners[0]}`;
    t.same(await one.take(turn('late'), times), { isTaken: false }, 'none has ended yet');
    t.equal((await other.take(turn(holder), times)).isTaken, true, 'its holder was started again');
    t.equal(await one.end(turn('late'), 'lost'), undefined, 'it was never theirs');
    const ended = await other.end(turn(holder), 'a:b\n漢');
    t.match(ended, { value: 'a:b\n漢', atMs: Number });
    t.same(await one.take(turn('late'), { everyMs: longMs, lifeMs: longMs }), { isTaken: false, last: ended });
    t.same(await one.take(turn('late'), times), { isTaken: true, last: ended });
    t.same(await one.take({ name: 'another', holder: 'late' }, times), { isTaken: true }, 'each name for itself');
  },

  async 'a turn whose holder is gone ends by itself'(t, engine) {
    const { store } = await engine.start(t);
    const [gone, next] = ['gone', 'next'].map((holder) => ({ name: 'a', holder })) as [
      { name: string; holder: string },
      { name: string; holder: string },
    ];
    t.ok((await store.turns.take(gone, { everyMs: 0, lifeMs: 50 })).isTaken);
    await waitFor(
      'the turn to be over',
      async () => (await store.turns.take(next, { everyMs: 0, lifeMs: longMs })).isTaken,
    );
    t.equal(await store.turns.end(gone, 'late'), undefined);
    t.match(await store.turns.end(next, 'in time'), { value: 'in time' });
  },
};
