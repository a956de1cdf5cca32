// The page of clients says what the tests try.
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'tap';
import { clientsPage } from './table.ts';

const page = new URL('../../deploy/CLIENTS.md', import.meta.url);

await test('the page of clients is the generated one', async (t) => {
  if (process.env['WRITE_PAGES'] !== undefined) writeFileSync(page, clientsPage());
  t.equal(readFileSync(page, 'utf8'), clientsPage(), 'WRITE_PAGES=1 node test/clients/table.test.ts');
});
