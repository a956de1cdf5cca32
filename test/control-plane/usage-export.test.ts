// Exports of usage: cells, the longest table, rows that move while it is read, and pages that cannot be read.
import { test } from 'tap';
import { csvLine } from '../../control-plane/admin/records/csv.ts';
import { longestTable, type RowPage, tableOf } from '../../control-plane/admin/records/table.ts';

const joinParts = async (parts: AsyncIterable<string>): Promise<string> => {
  let text = '';
  for await (const part of parts) text += part;
  return text;
};
const linesOf = (text: string): string[] => text.split('\r\n').slice(0, -1);

await test('a cell is quoted when it must be, and never a formula', async (t) => {
  const rows: [value: unknown, cell: string][] = [
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['=SUM(A1)', "'=SUM(A1)"],
    ['+1', "'+1"],
    ['-model', "'-model"],
    ['@cmd,"x"', '"\'@cmd,""x"""'],
    ['\t=1', "'\t=1"],
    ['\r=1', '"\'\r=1"'],
    ['-5.25', '-5.25'],
    ['-5+1', "'-5+1"],
    [['a', '=b'], 'a =b'],
    [['=a', 'b'], "'=a b"],
    [0, '0'],
    [0.5, '0.5'],
    [null, ''],
    [undefined, ''],
    ['', ''],
  ];
  for (const [value, cell] of rows) t.equal(csvLine([value]), `${cell}\r\n`, JSON.stringify(value));
  t.equal(csvLine(['a', null, 1]), 'a,,1\r\n');
});

/** Pages of rows that are counted up. */
const counted = (total: number, most = 0) => {
  const asked: number[] = [];
  const pageAt = async ({ limit, offset }: { limit: number; offset: number }): Promise<RowPage> => {
    asked.push(limit);
    const length = Math.max(0, Math.min(limit, total - offset));
    if (most > 0 && asked.length > most) throw new Error('no more pages');
    return { total, rows: Array.from({ length }, (_, index) => ({ id: offset + index })) };
  };
  return { asked, pageAt };
};

await test('a table ends at its longest, and says so', async (t) => {
  const { asked, pageAt } = counted(longestTable + 5_000);
  const table = await tableOf(['id'], pageAt);
  t.equal(table.isTruncated, true);
  const lines = linesOf(await joinParts(table.parts));
  t.equal(lines.length, longestTable + 1);
  t.equal(lines.at(-1), String(longestTable - 1));
  t.ok(
    asked.every((limit) => limit <= 2_000),
    'no page is longer than what is held in memory',
  );
  const whole = await tableOf(['id'], counted(longestTable).pageAt);
  t.equal(whole.isTruncated, false);
  t.equal(linesOf(await joinParts(whole.parts)).length, longestTable + 1);
});

await test('rows that came in meanwhile make none appear twice', async (t) => {
  const rows = Array.from({ length: 5_000 }, (_, index) => ({ id: 5_000 - index }));
  const table = await tableOf(
    ['id'],
    async ({ limit, offset }) => {
      const page = { total: rows.length, rows: rows.slice(offset, offset + limit) };
      for (let count = 0; count < 30; count += 1) rows.unshift({ id: rows.length + 1 });
      return page;
    },
    { idOf: ({ id }) => id },
  );
  const ids = linesOf(await joinParts(table.parts)).slice(1);
  t.equal(new Set(ids).size, ids.length);
  t.equal(ids.length, 5_000);
});

await test('rows that change their places are shown once, and those of one page are of one moment', async (t) => {
  const rows = Array.from({ length: 3_000 }, (_, index) => ({ id: index }));
  const pageAt = async ({ limit, offset }: { limit: number; offset: number }): Promise<RowPage> => {
    const page = { total: rows.length, rows: rows.slice(offset, offset + limit) };
    rows.unshift(...rows.splice(2_500, 1));
    return page;
  };
  const idsIn = async (pageLength: number): Promise<string[]> => {
    const table = await tableOf(['id'], pageAt, { pageLength, idOf: ({ id }) => id });
    return linesOf(await joinParts(table.parts)).slice(1);
  };
  t.equal(new Set(await idsIn(10_000)).size, 3_000);
  const paged = await idsIn(1_000);
  t.equal(new Set(paged).size, paged.length);
});

await test('a page that cannot be read breaks the table off; the first one refuses it', async (t) => {
  const table = await tableOf(['id'], counted(10_000, 2).pageAt);
  await t.rejects(joinParts(table.parts), { message: 'no more pages' });
  await t.rejects(
    tableOf(['id'], async () => Promise.reject(new Error('down'))),
    { message: 'down' },
  );
});
