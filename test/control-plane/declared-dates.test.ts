// The dates of declared rules: kept after edits of other rules, restarts and failures of the disk.
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { datedRule, dateRules, keepDeclaredDates } from '../../control-plane/managed/declared-dates.ts';
import { compileRules, type Rule } from '../../domain/rules/rule.ts';
import type { Limit } from '../../schemas/types.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const rules = (limits: Record<string, Partial<Limit>>, perChild = false): Rule[] =>
  compileRules({
    enabled: true,
    user_paths: Object.entries(limits).map(([path, limit]) => ({
      path,
      per_child: perChild,
      limits: [{ mode: 'enforce', period: 'minute', ...limit }],
    })),
    providers: [],
    models: [],
  });

const dates = (declared: ReturnType<typeof dateRules>): Record<string, number[]> =>
  Object.fromEntries([...declared].map(([key, { createdMs, updatedMs }]) => [key.slice(-2), [createdMs, updatedMs]]));

const ignore = (): void => undefined;

await test('an edit changes the date of what it changes, and of nothing else', (t) => {
  const first = dateRules(new Map(), rules({ '/a': { max_requests: 1 }, '/b': { max_tokens: 1 } }), 10);
  t.same(dates(first), { '/a': [10, 10], '/b': [10, 10] });
  const second = dateRules(
    first,
    rules({ '/b': { max_tokens: 1 }, '/a': { max_requests: 2 }, '/c': { max_tokens: 1 } }),
    20,
  );
  t.same(dates(second), { '/a': [10, 20], '/b': [10, 10], '/c': [20, 20] });
  const third = dateRules(second, rules({ '/a': { max_requests: 2 } }), 30);
  t.same(dates(dateRules(third, rules({ '/a': { max_requests: 2 }, '/b': { max_tokens: 1 } }), 40)), {
    '/a': [10, 20],
    '/b': [40, 40],
  });
  const edits: Record<string, Rule[]> = {
    'a cap in the other dimension': rules({ '/a': { max_tokens: 2 } }),
    'a second cap': rules({ '/a': { max_requests: 2, max_tokens: 2 } }),
    'another mode': rules({ '/a': { max_requests: 2, mode: 'shadow' } }),
    'a template': rules({ '/a': { max_requests: 2 } }, true),
  };
  for (const [edit, edited] of Object.entries(edits))
    t.same(dates(dateRules(third, edited, 50)), { '/a': [10, 50] }, edit);
  t.end();
});

await test('the dates survive a restart', async (t) => {
  const path = join(temporaryDirectory(t, 'gateway-dates'), 'plane', 'declared-rules.json');
  const problems: string[] = [];
  const report = (problem: string): void => void problems.push(problem);
  const before = await keepDeclaredDates(path, report);
  for (let cap = 1; cap <= 20; cap += 1) before.update(rules({ '/a': { max_requests: cap } }).map(datedRule), cap);
  t.same(dates(before.current()), { '/a': [1, 20] });
  await waitFor(
    'the last copy',
    async () => dates((await keepDeclaredDates(path, report)).current())['/a']?.[1] === 20,
  );

  const after = await keepDeclaredDates(path, report);
  after.update(rules({ '/a': { max_requests: 20 } }).map(datedRule), 99);
  t.same(dates(after.current()), { '/a': [1, 20] });
  t.same(problems, []);
  t.equal(statSync(path).mode & 0o777, 0o600);
});

await test('a copy that is damaged or cannot be written costs the dates, says so, and stops nothing', async (t) => {
  const directory = temporaryDirectory(t, 'gateway-dates');
  const path = join(directory, 'declared-rules.json');
  const problems: string[] = [];
  const report = (problem: string): void => void problems.push(problem);
  (await keepDeclaredDates(path, report)).update(rules({ '/a': { max_requests: 1 } }).map(datedRule), 10);
  await waitFor('the copy', () => statSync(path, { throwIfNoEntry: false }) !== undefined);
  writeFileSync(path, readFileSync(path, 'utf8').replace('10', '11'));
  const damaged = await keepDeclaredDates(path, report);
  damaged.update(rules({ '/a': { max_requests: 1 } }).map(datedRule), 20);
  t.same(dates(damaged.current()), { '/a': [20, 20] });
  t.same(problems, [`the dates of declared rate limits in ${path} are ignored: it is damaged`]);
  await waitFor('a new copy', async () => dates((await keepDeclaredDates(path, ignore)).current())['/a']?.[0] === 20);

  rmSync(path);
  mkdirSync(join(path, 'in-the-way'), { recursive: true });
  damaged.update(rules({ '/b': { max_requests: 1 } }).map(datedRule), 30);
  await waitFor('the complaint', () => problems.length > 1);
  t.match(problems.at(-1), /could not be written to .*declared-rules\.json \(/);
  t.same(dates(damaged.current()), { '/b': [30, 30] });
  rmSync(path, { recursive: true });
  damaged.update(rules({ '/b': { max_requests: 2 } }).map(datedRule), 40);
  await waitFor(
    'the copy again',
    async () => dates((await keepDeclaredDates(path, ignore)).current())['/b']?.[1] === 40,
  );
});
