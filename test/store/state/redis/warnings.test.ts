// A Redis that would lose rules is said to do so, before it does.
import { test } from 'tap';
import { openStateStore } from '../../../../store/state/open.ts';
import { redisWarnings } from '../../../../store/state/redis/warnings.ts';
import { startRedis } from '../../../support/redis.ts';

await test('eviction and no disk are each a sentence', async (t) => {
  const warned = (settings: Record<string, string>): string[] => redisWarnings(new Map(Object.entries(settings)));
  const good = { 'maxmemory-policy': 'noeviction', appendonly: 'yes', save: '' };
  t.same(warned(good), []);
  t.same(warned({ ...good, appendonly: 'no', save: '3600 1' }), []);
  t.match(warned({ ...good, 'maxmemory-policy': 'allkeys-lru' }), [/allkeys-lru.*noeviction$/]);
  t.match(warned({ ...good, appendonly: 'no' }), [/appendonly yes$/]);
  t.same(warned({}), [], 'what may not be read is not guessed');
});

await test('a server is asked for its settings, and may refuse', async (t) => {
  const user = 'user gateway on >secret ~{gateway}:* &{gateway}:* +@all -config';
  const redis = await startRedis(t, {
    users: ['user default on nopass ~* &* +@all', user],
    args: ['--maxmemory-policy', 'volatile-ttl'],
  });
  const warningsOf = async (redisUrl: string): Promise<readonly string[]> => {
    const store = openStateStore({ directory: '/nowhere', redisUrl });
    t.teardown(() => store.close());
    return store.warnings();
  };
  t.match(await warningsOf(redis.url), [/volatile-ttl/, /appendonly/]);
  t.same(await warningsOf(redis.url.replace('//', '//gateway:secret@')), []);
});
