// Whether a text is base 64, short or long: what is not may be words, wherever in it they stand.
import { test } from 'tap';
import { isBase64 } from '../../../proxy/dialects/text-data.ts';

await test('a text of any length is base 64 where each letter belongs there, and padding stands at its end', async (t) => {
  for (const length of [4, 512, 300_000, 262_144, 600_000]) {
    const letters = 'Ab+/9-_z'.repeat(length / 4).slice(0, length);
    for (const end of ['', 'A', 'AA==', 'AAA=']) t.ok(isBase64(letters + end), `${length} letters and ${end}`);
    // The low half of the last one is that of a letter of base 64.
    for (const foreign of [' ', '\n', '.', '=', 'é', '漢', '\u0141\u0142\u0143\u0144'])
      for (const place of [0, length / 2, length - 1])
        t.notOk(
          isBase64(`${letters.slice(0, place)}${foreign}${letters.slice(place)}AAAA`),
          `${JSON.stringify(foreign)} at ${place} of ${length}`,
        );
  }
});
