// The exposition format: what Prometheus reads back is what was written.
import { test } from 'tap';
import { Exposition } from '../../proxy/tallies/exposition.ts';

await test('every text and every number is written so that it can be read', async (t) => {
  const exposition = new Exposition();
  exposition.metric({ name: 'm', type: 'gauge', help: 'a \\ and a\nline', labelNames: [] });
  exposition.sample('m', {}, 1);
  exposition.sample('m', { a: 'x', b: 'q"u\\o\nte' }, 0.25);
  for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53, 1e-7])
    exposition.sample('m', {}, odd);
  t.equal(
    exposition.text(),
    [
      '# HELP m a \\\\ and a\\nline',
      '# TYPE m gauge',
      'm 1',
      'm{a="x",b="q\\"u\\\\o\\nte"} 0.25',
      'm NaN',
      'm +Inf',
      'm -Inf',
      'm 9007199254740992',
      'm 1e-7',
      '',
    ].join('\n'),
  );
});

await test('so much work asks for a pause, however it is portioned', async (t) => {
  for (const weight of [1, 10, 250, 1_000]) {
    const exposition = new Exposition();
    let pauses = 0;
    for (let work = 0; work < 2_000; work += weight) if (exposition.pause(weight) !== undefined) pauses += 1;
    t.equal(pauses, Math.min(8, 2_000 / weight), `${weight} at a time`);
  }
});
