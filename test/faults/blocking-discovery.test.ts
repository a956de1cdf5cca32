// No list of models, as long as it may be, holds the event loop of a proxy for longer than 50 ms.
import { t as suite, test } from 'tap';
import { createServer } from '../../plane/http.ts';
import { startGateway } from '../support/gateway.ts';
import { listen } from '../support/ports.ts';
import { createMeter, mostMs, quickestOf } from '../support/turn-meter.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(120_000);

const mebibyte = 2 ** 20;
/** Just within what is read of a list. */
const most = 4 * mebibyte - 100;
const times = (text: string, bytes = most): string => text.repeat(Math.floor(bytes / Buffer.byteLength(text)));
/** As many ids as are taken, all of them as long as they may be with the digits before them. */
const manyIds = 10_000;
const lists: Readonly<Record<string, () => string>> = {
  'the same id': () => `[${times('{"id":"a"},')}{"id":"a"}]`,
  'ids that cannot be used': () => `[{"id":"a"},${times('{"id":"*"},')}1]`,
  'long ids that cannot be used': () => `[{"id":"a"},${times(`{"id":"${'m'.repeat(300)}"},`)}1]`,
  'empty objects': () => `[{"id":"a"},${times('{},')}1]`,
  numbers: () => `[{"id":"a"},${times('1,')}1]`,
  'short texts': () => `[{"id":"a"},${times('"\\u0041",')}1]`,
  'one long entry': () => `[{"id":"a"},[${times('{},')}1]]`,
  'a member before the list': () => `{"x":[${times('{},', most - 100)}1],"data":[{"id":"a"}]}`,
  'many long ids': () =>
    JSON.stringify(Array.from({ length: manyIds }, (_, index) => ({ id: `${index}${'m'.repeat(245)}` }))),
};

let list = '[{"id":"first"}]';
let questions = 0;
const provider = createServer((asked, response) => {
  questions += 1;
  asked.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(list));
});
const base_url = `http://127.0.0.1:${await listen(provider)}/v1`;
suite.teardown(() => provider.close());
const meter = await createMeter();
const gateway = await startGateway(suite, {
  config: { providers: { p: { type: 'openai', base_url, api_key: 'key', discovery: { refresh: '100ms' } } } },
  execArgv: meter.execArgv,
  env: meter.env,
});

for (const [name, made] of Object.entries(lists)) {
  await test(name, async (t) => {
    const [long, short] = [made(), `[{"id":"before ${name}"}]`.replaceAll(' ', '-')];
    t.ok(Buffer.byteLength(long) <= 4 * mebibyte);
    const told = async (said: string): Promise<void> => {
      list = said;
      const before = questions;
      // When a question comes, the answer to the one before it was read.
      await waitFor('the list to be read', () => questions >= before + 2, 20_000);
    };
    const { longestMs } = await quickestOf(async () => {
      // Another list, so that the long one is put in force again.
      if (list === long) await told(short);
      return meter.during(() => told(long).then(() => 200));
    });
    t.ok(longestMs < mostMs, `${longestMs.toFixed(0)} ms`);
    t.equal(await gateway.metric('gateway_discovery_models'), name === 'many long ids' ? manyIds : 1);
  });
}
