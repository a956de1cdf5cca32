// The page about dialects says what each type of provider speaks, the preferred dialect first.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { rows } from '../../proxy/providers/rows.ts';

const page = readFileSync(join(import.meta.dirname, '../../deploy/DIALECTS.md'), 'utf8');
const noDialects = ['compact', 'input_tokens', 'embeddings', 'count_tokens', 'realtime'];

await test('every type of provider stands there with its dialects', (t) => {
  const said = [...page.matchAll(/^\| `(\w+)` +\| ([a-z, ]+?) +\|$/gm)].map(([, type = '', speaks = '']) => [
    type,
    speaks,
  ]);
  const spoken = Object.entries(rows).map(([type, { speeches }]) => {
    const dialects = Object.keys(speeches).filter((name) => !noDialects.includes(name));
    return [type, dialects.join(', ')];
  });
  t.strictSame(said, spoken);
  t.end();
});
