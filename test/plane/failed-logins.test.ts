// Failed logins: twenty within a minute begin a pause, and pauses grow; addresses are counted separately, memory is bounded.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { test } from 'tap';
import { addressBlock, createFailedLogins, type FailedLogins } from '../../plane/access/failed-logins.ts';

/** So many failures at once. */
function failOften(logins: FailedLogins, address: string | undefined, nowMs: number, times = 20): void {
  for (let count = 0; count < times; count += 1) logins.fail(address, nowMs);
}

await test('twenty failures within a minute begin a pause of a minute, for this address alone', async (t) => {
  const logins = createFailedLogins();
  for (let count = 0; count < 20; count += 1) {
    t.equal(logins.pause('192.0.2.7', count * 100), undefined);
    logins.fail('192.0.2.7', count * 100);
  }
  t.equal(logins.pause('192.0.2.7', 1_900), 60);
  t.equal(logins.pause('192.0.2.7', 61_899), 1);
  t.equal(logins.pause('192.0.2.7', 61_900), undefined);
  t.equal(logins.pause('192.0.2.8', 1_900), undefined, 'another client');
});

await test('failures over more than a minute begin none', async (t) => {
  const logins = createFailedLogins();
  for (let count = 0; count < 100; count += 1) {
    logins.fail('a', count * 3_200);
    t.equal(logins.pause('a', count * 3_200), undefined);
  }
});

await test('pauses grow while guessing goes on, up to a quarter of an hour, and are forgiven after an hour', async (t) => {
  const logins = createFailedLogins();
  const pauses: (number | undefined)[] = [];
  let nowMs = 0;
  for (let round = 0; round < 6; round += 1) {
    failOften(logins, 'a', nowMs);
    const seconds = logins.pause('a', nowMs) ?? 0;
    pauses.push(seconds);
    nowMs += seconds * 1_000;
  }
  t.same(pauses, [60, 120, 240, 480, 900, 900]);
  failOften(logins, 'a', nowMs + 3_600_000);
  t.equal(logins.pause('a', nowMs + 3_600_000), 60);
});

await test('what is tried in a pause does not prolong it', async (t) => {
  const logins = createFailedLogins();
  failOften(logins, 'a', 0);
  for (let at = 0; at < 60_000; at += 100) logins.fail('a', at);
  t.equal(logins.pause('a', 60_000), undefined);
});

await test('one client is an IPv4 address or an IPv6 /64', async (t) => {
  const blocks: [address: string, block: string][] = [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
    ['2001:db8:1::7', '2001:db8:1:0::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    ['', ''],
    ['nonsense', 'nonsense'],
  ];
  for (const [address, block] of blocks) t.equal(addressBlock(address), block, address);
  const logins = createFailedLogins();
  for (let count = 0; count < 20; count += 1) logins.fail(`2001:db8:1:2::${count}`, 0);
  t.equal(logins.pause('2001:db8:1:2:ffff::', 0), 60, 'the whole /64 is one');
  t.equal(logins.pause('2001:db8:1:3::', 0), undefined);
  t.equal(logins.pause(undefined, 0), undefined, 'a socket that is gone has no address');
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

await test('however many addresses there are, memory is bounded and those that go on trying are kept', async (t) => {
  const logins = createFailedLogins();
  failOften(logins, 'busy', 0);
  collect();
  const startedBytes = process.memoryUsage().heapUsed;
  let forgiven = 0;
  for (let count = 0; count < 300_000; count += 1) {
    logins.fail(`10.${count >> 16}.${(count >> 8) & 255}.${count & 255}`, 0);
    if (count % 1_000 === 0 && logins.pause('busy', 0) === undefined) forgiven += 1;
  }
  collect();
  const grownMiB = (process.memoryUsage().heapUsed - startedBytes) / 1024 / 1024;
  t.equal(forgiven, 0);
  // All of them would take more than 60 MiB.
  t.ok(grownMiB < 10, `grew by ${Math.round(grownMiB)} MiB`);
});
