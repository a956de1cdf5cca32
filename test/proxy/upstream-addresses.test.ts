// Which addresses are dialled for a provider. No test opens a connection to another machine: what would open one writes down what it was
// given.
import type { LookupAddress } from 'node:dns';
import { test } from 'tap';
import { createRefusedAddressLog } from '../../proxy/boot/refused-logs.ts';
import type { RefusedAddress } from '../../proxy/upstream/dial/dial.ts';
import { failureOf } from '../../proxy/upstream/failure.ts';
import { createPools, type Origin } from '../../proxy/upstream/pools.ts';
import { request } from '../../proxy/upstream/undici.ts';

type Names = Record<string, readonly string[]>;
type LookUp = (host: string, options: object, done: (error: Error | null, found: LookupAddress[]) => void) => void;

const familyOf = (address: string): 4 | 6 => (address.includes(':') ? 6 : 4);

/** Pools in a world of these names, in which connections are written down and fail. */
function recordingPools(names: Names) {
  const dialled: string[] = [];
  const refused: RefusedAddress[] = [];
  const pools = createPools(100, {
    resolve: (name, done) => {
      const found = names[name]?.map((address) => ({ address, family: familyOf(address) }));
      if (found === undefined) done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
      else done(null, found);
    },
    connector: (given) => {
      const { lookup } = given as unknown as { lookup: LookUp };
      return ({ hostname }, done) => {
        const fail = (error: Error): void => done(error, null);
        if (/^[\d.]+$|:/.test(hostname)) dialled.push(hostname);
        else
          lookup(hostname, { all: true }, (error, found) => {
            dialled.push(...found.map(({ address }) => address));
            fail(error ?? new Error('written down'));
          });
        return { once: () => undefined };
      };
    },
    refused: (each) => void refused.push(each),
  });
  return { pools, dialled, refused };
}

/** The code of the failure of a request to an origin. */
async function fateOf({ pools }: ReturnType<typeof recordingPools>, given: Pick<Origin, 'origin' | 'allowsPrivate'>) {
  const pool = pools.get({ name: 'p', connectTimeoutMs: 300, ...given });
  return request(pool, { method: 'GET', path: '/' }).then(
    () => 'answered',
    (error: unknown) => failureOf(error),
  );
}

await test('a name is dialled at the addresses that are allowed, and at no others', async (t) => {
  const names: Names = {
    'metadata.test': ['169.254.169.254', 'fd00:ec2::254', '::ffff:169.254.169.254'],
    'private.test': ['10.1.2.3', 'fc00::1'],
    'mixed.test': ['10.1.2.3', '192.0.2.1', '169.254.169.254', '2001:db8::1'],
    'local.test': ['127.0.0.1', '::1'],
  };
  const cases: [host: string, allowsPrivate: boolean, expected: string[]][] = [
    ['metadata.test', false, []],
    ['metadata.test', true, []],
    ['private.test', false, []],
    ['private.test', true, ['10.1.2.3', 'fc00::1']],
    ['mixed.test', false, ['192.0.2.1', '2001:db8::1']],
    ['mixed.test', true, ['10.1.2.3', '192.0.2.1', '2001:db8::1']],
    ['local.test', false, ['127.0.0.1', '::1']],
  ];
  for (const [host, allowsPrivate, expected] of cases) {
    const world = recordingPools(names);
    const fate = await fateOf(world, { origin: `http://${host}`, allowsPrivate });
    t.same(world.dialled, expected, `${host}, private ${allowsPrivate}`);
    if (expected.length > 0) continue;
    t.match(fate, { code: 'upstream_unavailable', reason: /^its address is not one/ });
    t.match(world.refused[0], { provider: 'p', address: names[host]?.[0] });
  }
});

await test('an address in place of a name is refused before anything is opened', async (t) => {
  for (const host of ['169.254.169.254', '10.1.2.3', '[::ffff:169.254.169.254]', '[fc00::1]', '0.0.0.0']) {
    const world = recordingPools({});
    t.match(await fateOf(world, { origin: new URL(`http://${host}`).origin }), { code: 'upstream_unavailable' }, host);
    t.same(world.dialled, [], host);
    t.equal(world.refused.length, 1, host);
  }
});

await test('each connection asks for the name once, so that no answer can change behind the check', async (t) => {
  const answers = [['192.0.2.1'], ['169.254.169.254'], ['192.0.2.1']];
  let asked = 0;
  const world = recordingPools({
    get 'rebinding.test'() {
      asked += 1;
      return answers[(asked - 1) % answers.length] ?? [];
    },
  });
  t.match(await fateOf(world, { origin: 'http://rebinding.test' }), { code: 'upstream_invalid_response' });
  t.same([asked, world.dialled], [1, ['192.0.2.1']]);
});

await test('the operator is told once a minute, with the provider, the address and what to set', (t) => {
  let clockMs = 0;
  const lines: [object, string][] = [];
  const tell = createRefusedAddressLog(
    { warn: (facts: object, words: string) => void lines.push([facts, words]) } as never,
    () => clockMs,
  );
  for (let count = 0; count < 100; count += 1) {
    tell({ provider: 'a', address: '10.1.2.3', kind: 'private' });
    tell({ provider: 'b', address: '169.254.169.254', kind: 'forbidden' });
  }
  t.same(
    lines.map(([facts]) => facts),
    [
      { provider: 'a', address: '10.1.2.3' },
      { provider: 'b', address: '169.254.169.254' },
    ],
  );
  t.match(lines[0]?.[1], /allow_private: true/);
  clockMs = 60_000;
  tell({ provider: 'a', address: '10.1.2.4', kind: 'private' });
  t.equal(lines.length, 3);
  t.end();
});
