// The README of examples/passthrough, as its reader does it: what goes up, what comes down, the limits, and the switch.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { temporaryDirectory } from '../support/teardown.ts';
import { blocksIn, exampleOf, openTerminal, startLocal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';

const top = join(import.meta.dirname, '../..');
const readme = readFileSync(join(top, 'examples/passthrough/README.md'), 'utf8');
const [start = '', ...commands] = blocksIn(readme, 'sh');
const [, refused = '', gone = ''] = blocksIn(readme, '');

interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body_bytes: number;
}

await test('a request is passed on with another key and under limits, until it is switched off', async (t) => {
  const home = temporaryDirectory(t, 'passthrough');
  const example = exampleOf(start);
  const config = join(home, 'config');
  cpSync(join(top, `examples/${example}/config`), config, { recursive: true });
  const { places } = await startLocal(t, home, { GATEWAY_CONFIG: config }, example);
  const paste = openTerminal(t, places);
  const [issue = '', get = '', post = '', compare = '', error = '', loop = '', usage = '', ask = ''] = commands;
  t.equal(commands.length, 8, 'every command of the README is pasted here');
  await paste(issue);
  const key = (await paste('echo "$GATEWAY_KEY"')).trim();
  t.match(key, /^sk-gw-/);

  const up = JSON.parse(await paste(get)) as Echo;
  t.match(up, { method: 'GET', url: '/v1/echo?question=why', headers: { 'x-experiment': '7' } });
  t.equal(up.headers['authorization'], 'Bearer sk-demo-…', "the gateway's key");
  for (const name of ['cookie', 'x-gateway-user-path', 'x-forwarded-for']) t.notOk(name in up.headers, name);
  t.notMatch(JSON.stringify(up), /sk-gw|sk-mine|mine/);
  t.match(JSON.parse(await paste(post)), { method: 'POST', body_bytes: 300_000 });

  const [direct = '', through = ''] = (await paste(compare)).split(/(?<=\r\n\r\n)/);
  const own = /^(set-cookie|x-ratelimit-remaining-requests: 9999)/im;
  t.match(direct, own);
  t.notMatch(through, own);
  t.match(through, /^x-demo-region: here\r$/m);
  t.match(through, /^x-ratelimit-limit-requests: 5\r$/m);
  t.match(through, /^x-upstream-request-id: req_/m);
  t.equal((await paste(error)).trim(), refused.trim(), 'as the README shows it');

  const lines = (await paste(loop)).trim().split('\n');
  t.match(lines.at(0), /^200 {2}left: 0 {2}rule: $/);
  t.equal(lines.at(-1), '429  left: 0  rule: research per minute');
  const used = await waitFor('the listing to have all five', async () => {
    const said = (await paste(usage)).replaceAll('\n', ' ');
    return /"\/research" "period_label":"minute" "requests_used":5/.test(said) && said;
  });
  t.match(used, /"demo" "period_label":"minute" "requests_used":5/, 'a refused request asked no provider');

  const file = join(config, 'server.yaml');
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('enable_passthrough_routes: true', 'enable_passthrough_routes: false'),
  );
  const off = await waitFor('the switch', async () => {
    const said = await paste(ask);
    return said.includes('route_not_found') && said;
  });
  t.equal(off.trim(), gone.trim(), 'as the README shows it');
});
