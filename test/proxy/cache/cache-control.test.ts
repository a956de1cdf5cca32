// What a client says of the cache in several lines, and in one that is too long to be read.
import { test } from 'tap';
import { readCacheControl } from '../../../proxy/cache/cache-control.ts';
import { wholeHeaderOf } from '../../../proxy/records/header-of.ts';

await test('all lines of a header are one list', (t) => {
  const raw = ['Cache-Control', 'max-age=60', 'Accept', 'x', 'cache-control', 'no-store'];
  t.equal(wholeHeaderOf(raw, 'cache-control'), 'max-age=60, no-store');
  t.equal(wholeHeaderOf(raw, 'age'), undefined);
  t.match(readCacheControl('max-age=60, no-store'), { isPrivate: true, maxAgeSeconds: 60 });
  t.end();
});

await test('a header that is too long may say that nothing is to be kept', (t) => {
  t.match(readCacheControl(`${'x'.repeat(1_024)}, no-store`), { isPrivate: true });
  t.match(readCacheControl(undefined), { isPrivate: false, isFresh: false });
  t.end();
});
