// REDIS_URL: what is understood, what is not, and that keys and fields made of any text can be told apart again.
import * as fc from 'fast-check';
import { test } from 'tap';
import { parseRedisUrl, placeOf, redisAddress } from '../../../../store/state/redis/address.ts';
import { counterField, parseCounterField, redisKeys } from '../../../../store/state/redis/keys.ts';
import { character } from '../../../support/character.ts';

await test('an address is taken apart', async (t) => {
  const none = { username: undefined, password: undefined };
  const plain = {
    kind: 'server',
    nodes: [{ host: 'cache', port: 6_379 }],
    master: '',
    isTls: false,
    ...none,
    database: 0,
    sentinelLogin: none,
    certificates: {},
  };
  t.same(parseRedisUrl('redis://cache'), plain);
  t.same(parseRedisUrl('redis://cache/'), plain);
  t.same(parseRedisUrl('redis://cache:7000/3'), { ...plain, nodes: [{ host: 'cache', port: 7_000 }], database: 3 });
  t.same(parseRedisUrl('rediss://:p%40ss%2Fword@cache'), { ...plain, isTls: true, password: 'p@ss/word' });
  t.same(parseRedisUrl('redis://us%3Aer:secret@cache'), { ...plain, username: 'us:er', password: 'secret' });
  t.same(parseRedisUrl('redis://[::1]:7000'), { ...plain, nodes: [{ host: '::1', port: 7_000 }] });
  for (const text of [
    '',
    'cache',
    'cache:6379',
    'http://cache',
    'redis:',
    'redis://',
    'redis://cache:port',
    'redis://cache/name',
    'redis://cache/-1',
    'redis://cache/0/1',
    'redis://cache?commandTimeout=1',
    'redis://cache#part',
    'redis://user@cache',
    'redis://:%zz@cache',
    'redis://one,two',
    'redis-sentinel://cache',
    'redis-sentinel://cache/',
    'redis-sentinel://cache/main/x',
    'redis-sentinel://cache,/main',
    'redis-cluster://cache/1',
    'redis-cluster://',
    'redis-proxy://cache',
  ]) {
    t.equal(parseRedisUrl(text), undefined, text);
  }
});

await test('an address of sentinels or of a cluster names several nodes', async (t) => {
  const [a, b] = [
    { host: 'a', port: 26_379 },
    { host: '::1', port: 7_000 },
  ];
  t.match(parseRedisUrl('redis-sentinel://us:p%2Cw@a,[::1]:7000/my-master/2'), {
    kind: 'sentinel',
    nodes: [a, b],
    master: 'my-master',
    database: 2,
    isTls: false,
    username: 'us',
    password: 'p,w',
  });
  t.match(parseRedisUrl('rediss+sentinel://a/main'), { kind: 'sentinel', nodes: [a], database: 0, isTls: true });
  t.match(parseRedisUrl('rediss-cluster://:pw@a,b:1/'), {
    kind: 'cluster',
    nodes: [
      { host: 'a', port: 6_379 },
      { host: 'b', port: 1 },
    ],
    isTls: true,
    password: 'pw',
  });
  const beside = { url: 'redis-sentinel://a/main', sentinelPassword: 'canary', certificates: { ca: 'PEM' } };
  const address = redisAddress(beside);
  t.match(address, { sentinelLogin: { password: 'canary' }, certificates: { ca: 'PEM' } });
  t.equal(placeOf(address), 'the master main of the sentinels a:26379');
  t.equal(placeOf(redisAddress('redis-cluster://:pw@a,[::1]')), 'the cluster a:6379, [::1]:6379');
});

await test('all keys share one hash tag, and no prefix breaks it', async (t) => {
  const keys = redisKeys('my.gateway-1_a');
  for (const key of [keys.state, keys.changed, keys.heartbeats, keys.heartbeatTimes, keys.counters('{i}:*')]) {
    t.match(key, /^\{my\.gateway-1_a\}:/);
  }
  for (const prefix of ['', '{x}', 'a b', 'a:b', 'ä', 'x'.repeat(65)]) t.throws(() => redisKeys(prefix), TypeError);
});

await test('a counter field gives back what it was made of', async (t) => {
  const text = fc.oneof(fc.string(), fc.string({ unit: character }), fc.constantFrom('', ':', '3:a:b', '漢🙂'));
  fc.assert(
    fc.property(text, text, (key, child) => {
      const parsed = parseCounterField(counterField(key, child));
      return parsed !== undefined && parsed[0] === key && parsed[1] === child;
    }),
  );
  fc.assert(
    fc.property(text, text, text, text, (key, child, otherKey, otherChild) => {
      const isSame = key === otherKey && child === otherChild;
      return isSame === (counterField(key, child) === counterField(otherKey, otherChild));
    }),
  );
  for (const field of ['', 'sequence', ':', ':a:b', '1', '1:', '1:a', '2:a:', '1e0:a:b', '-1:a:b']) {
    t.equal(parseCounterField(field), undefined, field);
  }
});
