// Failed logins within a minute: twenty are answered, then the client must wait; addresses are counted separately, memory is bounded.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { test } from 'tap';
import { addressBlock, createFailedLogins } from '../../plane/failed-logins.ts';

await test('the twenty-first failure within a minute is put off, for as long as it says', async (t) => {
  const logins = createFailedLogins();
  for (let count = 0; count < 20; count += 1) t.equal(logins.fail('192.0.2.7', count * 100), undefined);
  t.equal(logins.fail('192.0.2.7', 2_000), 58);
  t.equal(logins.fail('192.0.2.7', 59_001), 1);
  t.equal(logins.fail('192.0.2.7', 59_999), 1);
  t.equal(logins.fail('192.0.2.7', 60_000), undefined, 'the first is a minute old');
  t.equal(logins.fail('192.0.2.7', 60_000), 1, 'the second is not');
  t.equal(logins.fail('192.0.2.8', 2_000), undefined, 'another client');
});

await test('what is put off does not prolong the wait', async (t) => {
  const logins = createFailedLogins();
  for (let count = 0; count < 20; count += 1) logins.fail('a', 0);
  for (let at = 0; at < 60_000; at += 100) t.ok(logins.fail('a', at));
  t.equal(logins.fail('a', 60_000), undefined);
});

await test('a clock that begins at zero refuses no login', async (t) => {
  t.equal(createFailedLogins().fail('a', 0), undefined);
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
  t.equal(logins.fail('2001:db8:1:2:ffff::', 0), 60, 'the whole /64 is one');
  t.equal(logins.fail('2001:db8:1:3::', 0), undefined);
  t.equal(logins.fail(undefined, 0), undefined, 'a socket that is gone has no address');
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

await test('however many addresses there are, memory is bounded and those that go on failing are kept', async (t) => {
  const logins = createFailedLogins();
  for (let count = 0; count < 20; count += 1) logins.fail('busy', 0);
  collect();
  const startedBytes = process.memoryUsage().heapUsed;
  let forgiven = 0;
  for (let count = 0; count < 300_000; count += 1) {
    logins.fail(`10.${count >> 16}.${(count >> 8) & 255}.${count & 255}`, 0);
    if (count % 1_000 === 0 && logins.fail('busy', 0) === undefined) forgiven += 1;
  }
  collect();
  const grownMiB = (process.memoryUsage().heapUsed - startedBytes) / 1024 / 1024;
  t.equal(forgiven, 0);
  // All of them would take more than 60 MiB.
  t.ok(grownMiB < 10, `grew by ${Math.round(grownMiB)} MiB`);
});
