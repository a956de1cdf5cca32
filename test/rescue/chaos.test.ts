// Providers that misbehave at random, for a few seconds (npm run soak: for two minutes).
import { t as suite, test } from 'tap';
import { extent } from '../support/extent.ts';
import { runChaos } from './chaos.ts';

await test('while one provider can serve a request, its client gets one whole answer', async (t) => {
  const { faults, further, rescued } = await runChaos(suite, { seconds: extent(20, 4), perMinute: 2000, seed: 7 });
  t.same(faults, []);
  t.ok(further > 0 && rescued > 0, `${further} further calls, ${rescued} streams told on`);
});
