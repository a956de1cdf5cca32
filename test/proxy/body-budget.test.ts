// The bytes that request bodies take together: bounded, shared between consumers, and all given back.
import * as fc from 'fast-check';
import { test } from 'tap';
import { Refusal } from '../../proxy/errors.ts';
import { BodyBudget, type BodyLimits } from '../../proxy/http/body-budget.ts';

/** Whether it fits. */
function fits(run: () => void): boolean {
  try {
    run();
    return true;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'overloaded' && error.headers['retry-after'] === '1') return false;
    throw error;
  }
}

await test('beyond the budget a body is refused, and what ended gives its room back', async (t) => {
  const budget = new BodyBudget(8_000);
  const limits = { bodyLimitBytes: 500, bodyBudgetBytes: undefined };
  const [a, b, c] = ['/a', '/b', '/c'].map((consumer) => budget.open(consumer, limits)) as [
    ReturnType<BodyBudget['open']>,
    ReturnType<BodyBudget['open']>,
    ReturnType<BodyBudget['open']>,
  ];
  a.grow(400);
  a.grow(500);
  b.grow(400);
  t.equal(budget.held, 900, 'an eighth of the memory limit is 1,000');
  t.notOk(fits(() => c.expect(101)));
  t.ok(fits(() => c.expect(100)));
  t.equal(budget.held, 900, 'what is only declared takes nothing');
  t.notOk(fits(() => c.grow(101)));
  t.equal(budget.refused, 2);
  a.release();
  a.release();
  t.equal(budget.held, 400);
  t.ok(fits(() => c.grow(101)));
});

await test('one consumer takes half of the budget at most, and a body of full size always fits alone', async (t) => {
  const budget = new BodyBudget(1);
  const limits = { bodyLimitBytes: 100, bodyBudgetBytes: 1_000 };
  const own = [1, 2, 3, 4, 5].map(() => budget.open('key', limits));
  for (const body of own) body.grow(100);
  t.notOk(fits(() => budget.open('key', limits).grow(1)));
  t.ok(fits(() => budget.open('another', limits).grow(100)));
  for (const body of own) body.release();
  t.ok(fits(() => budget.open('key', limits).grow(100)));
  const small = { bodyLimitBytes: 5_000, bodyBudgetBytes: 10 };
  t.ok(fits(() => new BodyBudget(1).open('key', small).grow(5_000)));
});

await test('whatever grows and ends, the sum is right and never beyond the budget', async (t) => {
  const limits: BodyLimits = { bodyLimitBytes: 300, bodyBudgetBytes: 1_000 };
  const step = fc.record({ at: fc.nat(9), bytes: fc.nat(300), ends: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = new BodyBudget(0);
      const bodies = Array.from({ length: 10 }, (_, index) => budget.open(`/${index % 3}`, limits));
      const taken = bodies.map(() => 0);
      for (const { at, bytes, ends } of steps) {
        if (ends) {
          bodies[at]?.release();
          taken[at] = 0;
        } else if (bytes > (taken[at] ?? 0) && fits(() => bodies[at]?.grow(bytes))) taken[at] = bytes;
        const sum = taken.reduce((so, each) => so + each, 0);
        if (budget.held !== sum || sum > 1_000) throw new Error(`${budget.held} are held, ${sum} were taken`);
      }
      for (const body of bodies) body.release();
      if (budget.held !== 0) throw new Error('something is left');
    }),
  );
  t.pass();
});
