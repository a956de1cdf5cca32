// What a proxy tells again to a store that has lost it.
import { test } from 'tap';
import { type AttachAnswer, exchangeVersion } from '../../../../domain/limits/exchange.ts';
import { Session } from '../../../../proxy/limits/fleet/session.ts';
import { Stock, type Told } from '../../../../proxy/limits/fleet/stock.ts';

const stock = new Stock({ key: 'key', lane: 'requests', periodSeconds: 60, inUse: 0 }, 0);

function told(slice: number): Told {
  return { stock, covered: [[slice, 1]], uncovered: [], refunds: [], wish: 0, cap: 1 };
}

function attachAnswer(former: AttachAnswer['former'], sequence: number): AttachAnswer {
  const versions = { version: exchangeVersion, now: 0, generation: 'g', live: 1, rank: 0, recovering: false };
  return { ...versions, session: 1, former, sequence };
}

/** A session that has begun so many exchanges, of which the last one is not answered. */
function sessionWith(exchanges: number): Session {
  const session = new Session({ instance: 'a', boot: 'b' });
  session.attached(attachAnswer('unknown', 0));
  for (let sequence = 1; sequence <= exchanges; sequence += 1) {
    session.begin({ sentMs: sequence, told: [told(sequence)], groups: [] });
    if (sequence < exchanges) session.end(sequence);
  }
  return session;
}

await test('what was answered and is lost, and what was under way and did not arrive, is named apart', (t) => {
  t.same(sessionWith(4).attached(attachAnswer('known', 2)), { answered: [told(3)], underWay: [told(4)] });
  t.same(sessionWith(4).attached(attachAnswer('known', 4)), { answered: [], underWay: [] });
  t.end();
});

await test('what was applied before a new connection is told again when it is lost later', (t) => {
  const session = sessionWith(3);
  session.attached(attachAnswer('known', 3));
  t.same(session.attached(attachAnswer('known', 1)).answered, [told(2), told(3)], 'the one without an answer too');
  t.same(session.attached(attachAnswer('known', 1)).answered, [], 'once');
  t.end();
});

await test('what was told to a session that is over is told again by none', (t) => {
  const session = sessionWith(3);
  session.attached(attachAnswer('unknown', 0));
  t.same(session.attached(attachAnswer('known', 0)), { answered: [], underWay: [] });
  t.end();
});
