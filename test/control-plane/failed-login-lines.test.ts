// The lines about failed logins at the control plane: one per address and minute, with a count, in bounded memory.
import { test } from 'tap';
import { createFailedLoginLines } from '../../control-plane/failed-login-lines.ts';

const start = Date.UTC(2026, 0, 5);

function open() {
  const said: object[] = [];
  const lines = createFailedLoginLines({ warn: (fields, text) => void said.push({ ...fields, text }) });
  return {
    fail: (address: string, reason: 'unknown' | 'expired', afterMs: number, keyId?: string) =>
      lines.note(address, { reason, ...(keyId === undefined ? {} : { keyId }) }, start + afterMs),
    at: (afterMs: number) => {
      lines.tell(start + afterMs);
      return said.splice(0);
    },
  };
}

await test('the first failure of an address is told at once, later ones together once a minute', (t) => {
  const { fail, at } = open();
  fail('::ffff:192.0.2.7', 'unknown', 0);
  fail('192.0.2.8', 'unknown', 10);
  const line = { count: 1, reasons: { unknown: 1 }, text: 'failed logins' };
  t.strictSame(at(20), [
    { client_address: '192.0.2.7', ...line },
    { client_address: '192.0.2.8', ...line },
  ]);
  for (let count = 0; count < 30; count += 1) fail('192.0.2.7', 'unknown', 100 + count);
  fail('192.0.2.7', 'expired', 200, 'key-9');
  t.same(at(59_999), []);
  t.strictSame(at(60_000), [
    {
      client_address: '192.0.2.7',
      key_id: 'key-9',
      count: 31,
      reasons: { unknown: 30, expired: 1 },
      text: 'failed logins',
    },
  ]);
  t.same(at(125_000), [], 'nothing new');
  fail('192.0.2.7', 'unknown', 125_001);
  t.match(at(125_001), [{ count: 1, reasons: { unknown: 1 } }]);
  fail('2001:db8::1', 'unknown', 125_002);
  fail('2001:db8::2', 'unknown', 125_003);
  t.match(at(125_004), [{ client_address: '2001:db8::1', count: 1 }], 'a /64 is one client');
  t.match(at(190_000), [{ client_address: '2001:db8::2', count: 1 }]);
  t.end();
});

await test('a flood from many addresses has one line for those beyond a thousand', (t) => {
  const { fail, at } = open();
  for (let count = 0; count < 3_000; count += 1) fail(`10.0.${count >> 8}.${count & 255}`, 'unknown', count / 1000);
  t.equal(at(10).length, 1_001);
  t.strictSame(at(60_010), [{ count: 1_999, reasons: { unknown: 1_999 }, text: 'failed logins' }]);
  at(200_000);
  fail('10.0.11.1', 'unknown', 200_001);
  t.match(at(200_001), [{ client_address: '10.0.11.1' }], 'quiet addresses make room');
  t.end();
});
