// The reference page: the committed page is the generated one, and it has every setting and every error.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { errors as controlPlaneErrors } from '../../control-plane/errors.ts';
import { publicPaths } from '../../proxy/endpoints/index.ts';
import { modelEndpoints } from '../../proxy/endpoints/model-endpoints.ts';
import { errors as proxyErrors } from '../../proxy/error-table.ts';
import { generateReference } from '../../schemas/generate/generate-reference.ts';

const schemas = join(import.meta.dirname, '../../schemas');
const page = readFileSync(join(schemas, 'REFERENCE.md'), 'utf8');

/** The first cells of all table rows, without code marks. */
const firstCells = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, cell = '']) => cell);

await test('the committed page is what its sources generate', async (t) => {
  t.equal(generateReference(), page, 'run `npm run generate`');
});

await test('every property of the configuration schemas has a row', async (t) => {
  const names = new Set<string>();
  for (const file of readdirSync(join(schemas, 'config'))) {
    JSON.parse(readFileSync(join(schemas, 'config', file), 'utf8'), (key, value) => {
      if (key === 'properties') for (const name of Object.keys(value as object)) names.add(name);
      return value as unknown;
    });
  }
  const shown = new Set(firstCells.map((cell) => /(\w+)(?:\[\]|\.<name>)*$/.exec(cell)?.[1]));
  const sections = new Set([...page.matchAll(/^### `(\w+)`$/gm)].map(([, key]) => key));
  t.ok(names.size > 40);
  t.strictSame(
    [...names].filter((name) => !shown.has(name) && !sections.has(name)),
    [],
  );
});

await test('every endpoint outside the API description has a row', async (t) => {
  const paths = [...publicPaths, ...modelEndpoints.map(({ path }) => path)];
  const shown = new Set(firstCells.map((cell) => /^[A-Z]+ (\S+)$/.exec(cell)?.[1]));
  t.strictSame(
    paths.filter((path) => !shown.has(path)),
    [],
  );
});

await test('every error code that reaches a client is listed, under its status', async (t) => {
  const listed = [...page.matchAll(/^\| (\d{3}) \| (.*) \|$/gm)].flatMap(([, status, codes = '']) =>
    [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => `${code} ${status}`),
  );
  // A client that has left reads no code, and none reads that of a call that was not needed, or that the gateway made for itself.
  const { client_left: _, hedge_lost: __, auxiliary_timeout: ___, ...readable } = proxyErrors;
  const all = { ...readable, ...controlPlaneErrors };
  const wanted = Object.entries(all).map(([code, { status }]) => `${code} ${status}`);
  t.strictSame([...new Set(listed)].sort(), wanted.sort());
});
