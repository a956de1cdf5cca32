// A cached text: rendered once at a time, kept for its maximum age, and not kept after a failure.
import { test } from 'tap';
import { keepText } from '../../plane/kept-text.ts';

/** A source that counts how often it renders, and waits for its gate. */
function sourceOf() {
  const source = {
    rendered: 0,
    gate: Promise.resolve() as Promise<unknown>,
    async text() {
      source.rendered += 1;
      const text = String(source.rendered);
      await source.gate;
      return text;
    },
  };
  return source;
}

await test('within the maximum age every reader gets the same text, then a new one', async (t) => {
  const source = sourceOf();
  let nowMs = 5_000;
  const kept = keepText(source, 1_000, () => nowMs);
  t.equal(await kept.text(), '1');
  nowMs += 999;
  t.equal(await kept.text(), '1');
  nowMs += 1;
  t.equal(await kept.text(), '2');
  nowMs -= 500;
  t.equal(await kept.text(), '3', 'a clock that goes back makes nothing older than it is');
});

await test('readers during a rendering share its text, also when nothing is kept', async (t) => {
  for (const maxAgeMs of [0, 1_000]) {
    const source = sourceOf();
    const gate = Promise.withResolvers<void>();
    source.gate = gate.promise;
    const kept = keepText(source, maxAgeMs, () => 0);
    const asked = [kept.text(), kept.text(), kept.text()];
    gate.resolve();
    t.same(await Promise.all(asked), ['1', '1', '1']);
    t.equal(await kept.text(), maxAgeMs === 0 ? '2' : '1');
  }
});

await test('a failure reaches all readers that share it, and is not kept', async (t) => {
  const source = sourceOf();
  const kept = keepText(source, 1_000, () => 0);
  source.gate = Promise.reject(new Error('no'));
  await Promise.all([t.rejects(kept.text(), { message: 'no' }), t.rejects(kept.text(), { message: 'no' })]);
  source.gate = Promise.resolve();
  t.equal(await kept.text(), '2');
});
