// Answers with long lists: whole JSON, made in portions with turns of the event loop between them.
import { setImmediate } from 'node:timers/promises';
import { fastify } from 'fastify';
import { test } from 'tap';
import { bodyOf, LongList, longListType } from '../../control-plane/managed/long-list.ts';
import { fetch } from '../support/undici.ts';

/** Two portions are made before it is known that there are several, and the entry behind a portion is made with it. */
const mostOfOneTurn = 1_001;

await test('a list of any length arrives whole, and few of its entries are made in one turn', async (t) => {
  const app = fastify();
  t.teardown(() => app.close());
  let turn = 0;
  const made: number[] = [];
  function* entries(count: number): Generator<string> {
    for (let number = 0; number < count; number += 1) {
      made[turn] = (made[turn] ?? 0) + 1;
      yield JSON.stringify({ number, name: `é "${number}"` });
    }
  }
  app.get('/in/:count', async ({ params }, reply) => {
    const { count } = params as { count: string };
    const list = LongList.in('list', entries(Number(count)), count === '0' ? {} : { count });
    return reply.type(longListType).send(bodyOf(list));
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  for (const count of [0, 1, 499, 500, 501, 1_000, 12_345]) {
    made.length = 0;
    turn = 0;
    const asking = fetch(`${address}/in/${count}`);
    const reading = asking.then(async (response) => ({ response, body: await response.json() }));
    const end = new AbortController();
    const over = reading.finally(() => end.abort());
    while (!end.signal.aborted) {
      await setImmediate();
      turn += 1;
    }
    const { response, body } = await over;
    const list = Array.from({ length: count }, (_, number) => ({ number, name: `é "${number}"` }));
    t.strictSame(body, { list, ...(count === 0 ? {} : { count: String(count) }) });
    t.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    t.equal(response.headers.has('content-length'), count <= 500, 'a short one is sent as one text');
    t.ok(Math.max(0, ...made.filter((each) => each > 0)) <= mostOfOneTurn, `${count} entries`);
  }
});
