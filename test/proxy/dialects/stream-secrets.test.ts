// The quick look at every event finds what a search of all of its bytes finds, wherever it lies.
import * as fc from 'fast-check';
import { test } from 'tap';
import { mayNameError, withoutSecrets } from '../../../proxy/dialects/stream-secrets.ts';
import { runs } from '../../support/extent.ts';

await test('the mark of an error is found at every place, and nowhere else', async (t) => {
  for (let before = 0; before < 8; before += 1) {
    for (let behind = 0; behind < 8; behind += 1) {
      const bytes = Buffer.from(`${'r'.repeat(before % 2)}${'x'.repeat(before)}rror${'o'.repeat(behind)}`);
      t.equal(mayNameError(bytes), true, bytes.toString());
    }
  }
  const letters = fc.array(fc.constantFrom('r', 'o', 'e', '"'), { maxLength: 40 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(letters, (text) => mayNameError(Buffer.from(text)) === text.includes('rror')),
    runs(10_000),
  );
});

await test('letters that were escaped beside an escaped secret stay what they were', async (t) => {
  const event = Buffer.from('data: {"error":"canary\\u002bkey of \\u6f22字"}\n\n');
  t.equal(withoutSecrets(event, ['canary+key']).toString(), 'data: {"error":"[redacted] of \\u6f22字"}\n\n');
});
