// A Redis that would lose rules is said to do so, before it does.
import { test } from 'tap';
import { openStateStore } from '../../../../store/state/open.ts';
import { inspected } from '../../../../store/state/redis/warnings.ts';
import { startRedis } from '../../../support/redis.ts';

await test('eviction and no disk are each a sentence', async (t) => {
  const warned = (settings: Record<string, string>, evicted = 0): string[] => {
    const { warnings, evicts } = inspected(new Map(Object.entries(settings)), evicted);
    return evicts === undefined ? [...warnings] : [...warnings, evicts];
  };
  const good = { 'maxmemory-policy': 'noeviction', appendonly: 'yes', save: '' };
  t.same(warned(good), []);
  t.same(warned({ ...good, appendonly: 'no', save: '3600 1' }), []);
  t.match(warned({ ...good, 'maxmemory-policy': 'allkeys-lru' }), [/allkeys-lru.*noeviction$/]);
  t.match(warned({ maxmemory_policy: 'volatile-lru' }), [/volatile-lru/], 'without the right to read settings');
  t.match(warned({}, 3), [/evicted 3 keys/], 'nor the policy');
  t.same(warned(good, 3), [], 'those of before');
  t.match(warned({ ...good, appendonly: 'no' }), [/appendonly yes$/]);
  t.same(warned({}), [], 'what may not be read is not guessed');
});

await test('a server is asked for its settings, and may refuse', async (t) => {
  const user = 'user gateway on >secret ~{gateway}:* &{gateway}:* +@all -config -info';
  const redis = await startRedis(t, {
    users: ['user default on nopass ~* &* +@all', user],
    args: ['--maxmemory-policy', 'volatile-ttl'],
  });
  const inspection = async (redisUrl: string) => {
    const store = openStateStore({ directory: '/nowhere', redisUrl });
    t.teardown(() => store.close());
    return store.inspect();
  };
  t.match(await inspection(redis.url), { evicts: /volatile-ttl/, warnings: [/appendonly/] });
  const refused = await inspection(redis.url.replace('//', '//gateway:secret@'));
  t.same(refused, { evicts: undefined, warnings: [] });
});
