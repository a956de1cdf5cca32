// A misspelled word finds the one that was meant.
import { test } from 'tap';
import { didYouMean } from '../../../schemas/validation/suggest.ts';

const keys = ['models', 'pricing', 'rpm', 'tpm', 'type', 'weight'];

const cases: readonly (readonly [written: string, meant: string | undefined])[] = [
  ['model', 'models'],
  ['modles', 'models'],
  ['Modles', 'models'],
  ['rmp', 'rpm'],
  ['rp', 'rpm'],
  ['tyep', 'type'],
  ['wieght', 'weight'],
  ['prm', 'rpm'],
  ['mpr', undefined],
  ['elder', undefined],
  ['x'.repeat(300), undefined],
];

for (const [written, meant] of cases)
  await test(`${written.slice(0, 20)} means ${meant ?? 'nothing'}`, async (t) =>
    t.equal(didYouMean(written, keys), meant === undefined ? '' : `; did you mean "${meant}"?`));

await test('of two candidates the closer one is meant', async (t) => {
  t.equal(didYouMean('modle', ['models', 'model']), '; did you mean "model"?');
});
