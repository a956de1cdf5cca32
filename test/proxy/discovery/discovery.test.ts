// When providers are asked for their models, how many at once, and what becomes of answers that come too late.
import { type Test, test } from 'tap';
import type { AskedProvider, Told } from '../../../proxy/discovery/ask-models.ts';
import { type DiscoveringProvider, Discovery } from '../../../proxy/discovery/discovery.ts';
import type { KeptInventories } from '../../../proxy/discovery/inventory-file.ts';
import { modelFilter } from '../../../proxy/discovery/model-filter.ts';
import { sourceOf } from '../../../proxy/discovery/source.ts';
import { compileUpstream } from '../../../proxy/snapshot/compile-upstream.ts';
import { ProviderKeys } from '../../../proxy/upstream/api-keys.ts';
import { waitFor } from '../../support/wait-for.ts';
import { sampleConfig } from '../sample-config.ts';

const address = 'http://127.0.0.1:9/v1';
const at = { type: 'openai', base_url: address } as const;
const failing: Told = { trouble: 'it is away' };
const told = (...ids: string[]): Told => ({ ids, skipped: 0 });

/** A provider that is asked once an hour, and what the compiler makes of it. */
function providerOf(name: string, include?: string[]): DiscoveringProvider {
  const { models: _, ...provider } = sampleConfig({ providers: { p: {} } }).providers['p'] ?? {};
  const whole = { ...provider, discovery: { refresh: '1h', ...(include && { include }) } };
  const files = { formerKeys: [], authorities: undefined };
  return compileUpstream(name, whole as Parameters<typeof compileUpstream>[1], files, new ProviderKeys());
}

function start(t: Test, recalled: KeptInventories = new Map()) {
  const asked: { readonly name: string; readonly answer: (told: Told) => void }[] = [];
  const saved: KeptInventories[] = [];
  const lines: object[] = [];
  let changes = 0;
  const discovery = new Discovery({
    recalled,
    ask({ name }: AskedProvider) {
      const { promise, resolve } = Promise.withResolvers<Told>();
      asked.push({ name, answer: resolve });
      return promise;
    },
    save: (inventories) => void saved.push(inventories),
    changed() {
      changes += 1;
    },
    log: {
      info: (fields, text) => void lines.push({ ...fields, text }),
      warn: (fields, text) => void lines.push({ ...fields, text }),
      error: (fields, text) => void lines.push({ ...fields, text }),
    },
    nowMs: () => 1_000,
  });
  t.teardown(() => discovery.close());
  const names = () => asked.map(({ name }) => name).join(' ');
  return { discovery, asked, saved, lines, names, changes: () => changes };
}

await test('four are asked at once, the others in turn, and several changes are told together', async (t) => {
  const { discovery, asked, names, changes, saved } = start(t);
  discovery.keep(
    'a b c d e f'.split(' ').map((name) => providerOf(name)),
    'r1',
  );
  t.equal(names(), 'a b c d');
  t.ok(discovery.isIncomplete);
  asked[1]?.answer(told('m'));
  await waitFor('the next one', () => names() === 'a b c d e');
  asked[0]?.answer(told('m'));
  await waitFor('the last one', () => names() === 'a b c d e f');
  await waitFor('a call', () => changes() > 0);
  t.equal(changes(), 1);
  t.equal(saved.at(-1)?.size, 2);
  t.same(discovery.modelsOf('a', at), ['m']);
  t.same(discovery.modelsOf('a', { ...at, discovery: { exclude: ['m'] } }), []);
  t.same(discovery.modelsOf('a', { ...at, base_url: 'http://127.0.0.1:8/v1' }), [], 'another address');
  t.same(discovery.modelsOf('a', { ...at, type: 'vllm' }), [], 'another type lists its models elsewhere');
  t.same(discovery.modelsOf('c', at), []);
});

await test('another config asks those that failed again, at once; the same config does not', async (t) => {
  const { discovery, asked, names, lines } = start(t);
  discovery.keep([providerOf('a'), providerOf('b')], 'r1');
  asked[0]?.answer(failing);
  asked[1]?.answer(told('m'));
  await waitFor('both answers', () => lines.length === 2);
  discovery.keep([providerOf('a'), providerOf('b')], 'r1');
  t.equal(names(), 'a b');
  discovery.keep([providerOf('a'), providerOf('b')], 'r2');
  t.equal(names(), 'a b a');
  asked[2]?.answer(failing);
  await waitFor('a second failure', () => discovery.known()[0]?.failures === 2);
  t.equal(lines.length, 2, 'the same reason is not said again');
});

await test('an answer that comes after its provider went, or moved, is not used', async (t) => {
  const { discovery, asked, changes } = start(t);
  discovery.keep([providerOf('a')], 'r1');
  discovery.keep([], 'r2');
  asked[0]?.answer(told('m'));
  discovery.keep([providerOf('a')], 'r3');
  await waitFor('a question of its own', () => asked.length === 2);
  t.same(discovery.known(), [{ provider: 'a', count: 0, atMs: undefined, failures: 0 }]);
  t.equal(changes(), 0);
});

await test('what was kept is used before a provider is asked; lines name twenty models at most', async (t) => {
  const ids = Array.from({ length: 30 }, (_, index) => `m${index}`);
  const { discovery, asked, lines } = start(t, new Map([[sourceOf('a', at), { ids, atMs: 7 }]]));
  t.equal(discovery.modelsOf('a', at).length, 30, 'before the first config is in force');
  discovery.keep([providerOf('a', ['m1*'])], 'r1');
  t.notOk(discovery.isIncomplete);
  t.same(discovery.known(), [{ provider: 'a', count: 11, atMs: 7, failures: 0 }]);
  discovery.keep([providerOf('a')], 'r2');
  asked[0]?.answer(told('n'));
  await waitFor('a line', () => lines.length === 1);
  t.match(lines, [{ text: 'models changed', count: 1, added: ['n'], removed_more: 10 }]);
  t.equal((lines[0] as { removed: string[] }).removed.length, 20);
  t.ok(modelFilter({ include: ['m1*'] })('m1'));
});
