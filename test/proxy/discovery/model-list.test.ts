// What becomes of a provider's list of models, hostile lists included, and of the filters.
import { gzipSync } from 'node:zlib';
import { type Test, test } from 'tap';
import { modelFilter } from '../../../proxy/discovery/model-filter.ts';
import { usableModels } from '../../../proxy/discovery/model-list.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { modelLists } from '../../../proxy/providers/model-lists.ts';
import { createDeadlines } from '../../../proxy/upstream/deadlines.ts';
import { createPools } from '../../../proxy/upstream/pools.ts';
import { readWhole } from '../../../proxy/upstream/read-whole.ts';
import { type Behaviour, startFakeUpstream } from '../../support/fake-upstream.ts';
import { watchTime } from '../../support/slowdown.ts';
import { patience } from '../short-patience.ts';

const listOf = (...ids: unknown[]): string => JSON.stringify({ object: 'list', data: ids.map((id) => ({ id })) });

const idsIn = (text: string) => atOnce(modelLists.openai(Buffer.from(text)));

await test('a list of models is read in both shapes; anything else is no list', async (t) => {
  t.same(idsIn(listOf('b', 'a')), ['b', 'a']);
  t.same(idsIn('[{"id":"a"}]'), ['a']);
  t.same(
    idsIn('{"data":[null,1,"a",{},[],{"id":{"id":"a"}}]}')?.filter((id) => typeof id === 'string'),
    [],
  );
  t.same(idsIn('{"a":[{"data":[]}],"d\\u0061ta":[{"id":"a"}]}'), ['a'], 'a name with an escape');
  t.same(idsIn(`[{"id":"a"},{"id":"b","x":"${'x'.repeat(70_000)}"}]`), ['a', undefined], 'an entry that is too long');
  for (const text of ['', 'null', '1', '"a"', '{}', '{"data":null}', '{"data":{"id":"a"}}', '<html>'])
    t.equal(idsIn(text), undefined, text);
  t.throws(() => idsIn('[{"id":"a"'));
});

await test('only ids that the schema of models accepts are used, each once, sorted, at most 10,000', async (t) => {
  const odd = ['', ' a', 'a ', 'a\nb', 'a\u0000', 'gpt-*', 'x'.repeat(257), 7, null, undefined, {}];
  const used = ['b', 'a', 'b', 'meta-llama/Llama 3', '__proto__', 'x'.repeat(256)];
  t.same(atOnce(usableModels([...odd, ...used])), {
    ids: ['__proto__', 'a', 'b', 'meta-llama/Llama 3', 'x'.repeat(256)],
    skipped: odd.length,
  });
  const many = Array.from({ length: 10_003 }, (_, index) => `m${index}`);
  const { ids, skipped } = atOnce(usableModels([...many, 'm1']));
  t.equal(ids.length, 10_000);
  t.equal(skipped, 3);
});

await test('filters: * stands for any text; exclude wins over include', async (t) => {
  const table: [pattern: string, passes: string, fails: string][] = [
    ['gpt-*', 'gpt- gpt-4o gpt-4o/x', 'Gpt-4o xgpt-4o gpt'],
    ['*-preview', '-preview o1-preview', 'o1-preview-2 preview'],
    ['*4*', '4 gpt-4o', 'gpt-3'],
    ['a*b*c', 'abc axbxc abcbc', 'ac acb abcd'],
    ['a*a', 'aa aba', 'a'],
    ['gpt-4o', 'gpt-4o', 'gpt-4o-mini'],
    ['*', 'a', ''],
    ['a.c', 'a.c', 'abc'],
  ];
  for (const [pattern, passes, fails] of table) {
    const accepts = modelFilter({ include: [pattern] });
    for (const id of passes.split(' ')) t.ok(accepts(id), `${pattern} ${id}`);
    for (const id of fails.split(' ').filter(Boolean)) t.notOk(accepts(id), `${pattern} ${id}`);
  }
  const both = modelFilter({ include: ['gpt-*', 'o1*'], exclude: ['*-preview', 'gpt-3*'] });
  t.same(['gpt-4o', 'o1', 'o1-preview', 'gpt-3.5', 'tts'].filter(both), ['gpt-4o', 'o1']);
  t.same(['a', 'b'].filter(modelFilter({ exclude: ['b'] })), ['a'], 'without include everything passes');
  t.same(['a'].filter(modelFilter({})), ['a']);
});

await test('a pattern of many stars takes no longer for a long id', async (t) => {
  const accepts = modelFilter({ include: [`${'*a'.repeat(100)}*b`] });
  const tookMs = watchTime();
  for (let count = 0; count < 10_000; count += 1) accepts('a'.repeat(256));
  t.ok(tookMs() < 3_000);
});

const timeouts = { ...patience, totalMs: 300 };

async function read(t: Test, behaviour: Behaviour, mostBytes = 4 << 20) {
  const upstream = await startFakeUpstream({ t });
  await upstream.behave(behaviour);
  const pools = createPools(8);
  const pool = pools.get({ origin: new URL(upstream.url).origin, connectTimeoutMs: 300 });
  t.teardown(() => pools.closeFree());
  const question = { path: '/v1/models', headers: ['authorization', 'Bearer k'], mostBytes };
  const answer = await readWhole(
    pool,
    question,
    timeouts,
    createDeadlines(() => performance.now()),
  );
  return { answer, ledger: upstream.ledger };
}

await test('an answer is read whole: short, long, compressed', async (t) => {
  const long = listOf(...Array.from({ length: 20_000 }, (_, index) => `model-${index}`));
  const zipped: Behaviour = { kind: 'json', body: gzipSync(long), headers: [['content-encoding', 'gzip']] };
  const short = await read(t, { kind: 'json', body: listOf('a') });
  t.match(short.answer, { status: 200, body: Buffer.from(listOf('a')) });
  t.match(short.ledger, [{ method: 'GET', target: '/v1/models' }]);
  for (const behaviour of [zipped, { kind: 'json', body: long } as const]) {
    const { answer } = await read(t, behaviour);
    t.equal(answer.failure === undefined && answer.body.toString(), long);
  }
  t.match((await read(t, { kind: 'error', status: 503 })).answer, { status: 503 });
});

await test('an answer that is too long, too late, broken or a bomb is a failure', async (t) => {
  const table: [behaviour: Behaviour, code: string][] = [
    [{ kind: 'json', body: listOf('a'.repeat(70_000)) }, 'upstream_invalid_response'],
    [{ kind: 'endless-body' }, 'upstream_invalid_response'],
    [{ kind: 'hang' }, 'upstream_timeout'],
    [{ kind: 'reset' }, 'upstream_disconnected'],
    [{ kind: 'refused' }, 'upstream_unavailable'],
    [{ kind: 'short-body' }, 'upstream_'],
    [{ kind: 'not-http' }, 'upstream_invalid_response'],
  ];
  const answers = await Promise.all(table.map(([behaviour]) => read(t, behaviour, 65_536)));
  answers.forEach(({ answer }, index) => {
    const [behaviour, code] = table[index] ?? [];
    t.ok(answer.failure?.code.startsWith(code ?? '-'), `${behaviour?.kind}: ${JSON.stringify(answer.failure)}`);
  });
  const bomb: Behaviour = {
    kind: 'json',
    body: gzipSync('x'.repeat(1 << 20)),
    headers: [['content-encoding', 'gzip']],
  };
  t.match((await read(t, bomb, 65_536)).answer, { failure: { code: 'upstream_invalid_response' } });
});
