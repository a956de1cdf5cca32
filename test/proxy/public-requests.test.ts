// Turns of requests without a key: strangers that do not take their answers make room for others, and no address takes all turns.
import { test } from 'tap';
import { PublicTurns } from '../../proxy/admin/public-requests.ts';

/** A stranger whose request goes on until it is cut or ended. */
function stranger(turns: PublicTurns, clientAddress: string, nowMs: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const seen = { isCut: false, end: resolve };
  const response = {
    headersSent: true,
    destroy() {
      seen.isCut = true;
      resolve();
      return response;
    },
  };
  const served = turns.take({ clientAddress, response } as never, nowMs, () => promise);
  return Object.assign(seen, { served, response });
}

await test('a client that does not take its answer makes room after a second, the oldest first', async (t) => {
  const turns = new PublicTurns();
  const slow = Array.from({ length: 64 }, (_, index) => stranger(turns, `192.0.2.${index}`, index));
  await t.rejects(stranger(turns, '198.51.100.1', 999).served, { code: 'overloaded', status: 503 });
  const next = stranger(turns, '198.51.100.1', 1_000);
  t.same([slow[0]?.isCut, slow[1]?.isCut], [true, false]);
  next.end();
  await next.served;
});

await test('a request that still waits for its answer is not cut', async (t) => {
  const turns = new PublicTurns();
  const waiting = Array.from({ length: 64 }, (_, index) => stranger(turns, `192.0.2.${index}`, 0));
  for (const { response } of waiting) response.headersSent = false;
  await t.rejects(stranger(turns, '198.51.100.1', 60_000).served, { code: 'overloaded' });
  t.notOk(waiting.some(({ isCut }) => isCut));
});

await test('one address, in IPv6 a /64, takes half of the turns at most', async (t) => {
  const turns = new PublicTurns();
  for (let index = 0; index < 32; index += 1) stranger(turns, `2001:db8::${index}`, 0);
  await t.rejects(stranger(turns, '2001:db8::ffff', 0).served, { code: 'overloaded' });
  const other = stranger(turns, '2001:db8:0:1::1', 0);
  other.end();
  await other.served;
});
