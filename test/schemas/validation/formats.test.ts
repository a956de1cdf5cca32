// The ranges of the keyword x-unit: both ends belong to them.
import { test } from 'tap';
import { isWithinRange } from '../../../schemas/validation/formats.ts';

const texts: [unit: 'duration' | 'retention' | 'size' | 'space', text: string, isValid: boolean][] = [
  ['size', '1B', true],
  ['size', '0B', false],
  ['size', '1GiB', true],
  ['size', '1073741825B', false],
  ['duration', '1ms', true],
  ['duration', '0ms', false],
  ['duration', '596h', true],
  ['duration', '597h', false],
  ['retention', '1s', true],
  ['retention', '0d', false],
  ['retention', '365d', true],
  ['retention', '366d', false],
  ['space', '1048576GiB', true],
  ['space', '1048577GiB', false],
  ['size', 'a text that the pattern refuses', true],
];

for (const [unit, text, isValid] of texts) {
  await test(`${text} is ${isValid ? 'taken' : 'refused'} as a ${unit}`, async (t) => {
    t.equal(isWithinRange(unit, text), isValid);
  });
}
