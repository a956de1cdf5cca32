// /v1/files and /v1/batches: whatever is uploaded goes to one provider, and comes back to the user path that sent it alone.
import { once } from 'node:events';
import { connect } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { APIError, toFile } from 'openai';
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { journaled } from '../support/journal.ts';
import { type KeptFile, keepThings } from '../support/keeping-provider.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const first = await startFakeUpstream({ t: suite });
const second = await startFakeUpstream({ t: suite });
const kept = await keepThings(first, 'a');
const keptToo = await keepThings(second, 'b');
const key = `\${TEST_PROVIDER_KEY}`;
const pricing = { input_per_mtok: 10, output_per_mtok: 20 };
const provider = { type: 'groq', api_key: key, models: [{ id: 'real-small', pricing }] };
const long = { above_tokens: 1_500, input_per_mtok: 1_000, output_per_mtok: 1_000 };
const claudes = [{ id: 'claude-real', pricing: { ...pricing, batch_share: 0.25, long_context: long } }, 'claude-other'];
const gateway = await shareGateway({
  config: {
    server: { upload_limit: '32MiB' },
    providers: {
      first: { ...provider, base_url: first.url, api_keys: [key, 'sk-another-key-0123456789'], api_key: undefined },
      second: { ...provider, base_url: second.url },
      plain: { ...provider, type: 'mistral', base_url: second.url },
      maybe: { ...provider, type: 'openai', base_url: second.url },
      claude: { type: 'anthropic', api_key: key, base_url: second.url, models: claudes },
      none: { ...provider, type: 'cohere', base_url: second.url },
    },
    aliases: [
      { source: 'small', target: 'first/real-small' },
      { source: 'haiku', target: 'claude/claude-real' },
    ],
    rate_limits: {
      user_paths: [
        { path: '/busy', limits: [{ period: 'minute', max_requests: 1 }] },
        { path: '/slots', limits: [{ period: 'concurrent', max_requests: 1 }] },
      ],
      providers: [{ name: 'first', limits: [{ period: 'minute', max_requests: 1 }] }],
    },
  },
});

const as = (path: string): OpenAI =>
  new OpenAI({
    apiKey: gateway.masterKey,
    baseURL: `${gateway.url}/v1`,
    maxRetries: 0,
    defaultHeaders: { 'x-gateway-user-path': path },
  });
const at = (name: string) => ({ query: { provider: name } });
const line = (model: string, id = 'one'): string =>
  `${JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/chat/completions', body: { model, seed: 1, messages: [] } })}\n`;
const codeOf = (error: unknown): string =>
  error instanceof APIError ? `${error.status} ${error.code}` : String(error);
const refusedWith = (call: PromiseLike<unknown>): PromiseLike<string> => call.then(() => 'answered', codeOf);

/** Input, output and nano-dollars of each record about something that a provider has made. */
const costsOf = async (id: string): Promise<unknown[]> => {
  const found = () =>
    journaled(gateway)
      .flatMap(({ attempts }) => attempts.flatMap(({ usage }) => usage ?? []))
      .filter(({ provider_id }) => provider_id === id)
      .map((usage) => [usage.input_tokens, usage.output_tokens, usage.cost?.total]);
  return waitFor('the record', () => (found().length > 0 ? found() : undefined));
};

await test('a file goes to the provider that is named and is read back by its own user path', async (t) => {
  const file = () => toFile(Buffer.from('hello\r\n--world'), 'a.txt');
  t.equal(
    await refusedWith(as('/team').files.create({ file: await file(), purpose: 'user_data' })),
    '400 provider_needed',
  );
  t.equal(
    await refusedWith(as('/team').files.create({ file: await file(), purpose: 'user_data' }, at('none'))),
    '400 unsupported_operation',
  );
  t.equal(
    await refusedWith(as('/team').files.create({ file: await file(), purpose: 'user_data' }, at('nobody'))),
    '400 unknown_provider',
  );
  const made = await as('/team').files.create({ file: await file(), purpose: 'user_data' }, at('first'));
  t.same(kept.files.get(made.id)?.content.toString(), 'hello\r\n--world');
  await gateway.restart();
  t.match(await as('/team').files.retrieve(made.id), { id: made.id, purpose: 'user_data' });
  const content = await as('/team').files.content(made.id);
  t.equal(content.headers.get('content-type'), 'application/octet-stream');
  t.equal(await content.text(), 'hello\r\n--world');
  for (const path of ['/', '/team/app', '/other']) {
    t.equal(await refusedWith(as(path).files.retrieve(made.id)), '404 kept_not_found');
    t.equal(await refusedWith(as(path).files.content(made.id)), '404 kept_not_found');
    t.equal(await refusedWith(as(path).files.delete(made.id)), '404 kept_not_found');
  }
  t.match(await as('/team').files.delete(made.id), { deleted: true });
  t.equal(await refusedWith(as('/team').files.retrieve(made.id)), '404 kept_not_found');
  t.equal(kept.files.size, 0);
});

await test('the lines of a batch name models as its provider does, and the batch goes where its file is', async (t) => {
  const team = as('/team');
  const file = await toFile(Buffer.from(line('small') + line('first/real-small', 'two')), 'in.jsonl');
  const input = await team.files.create({ file, purpose: 'batch' }, at('first'));
  t.equal(kept.files.get(input.id)?.content.toString(), line('real-small') + line('real-small', 'two'));
  const asked = { input_file_id: input.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  t.equal(await refusedWith(as('/other').batches.create(asked)), '404 kept_not_found');
  const batch = await team.batches.create(asked);
  for (const _ of [1, 2]) t.match(await team.batches.retrieve(batch.id), { id: batch.id, status: 'completed' });
  t.match(await team.batches.cancel(batch.id), { status: 'cancelling' });
  t.equal(await refusedWith(as('/other').batches.retrieve(batch.id)), '404 kept_not_found');
  t.equal(await refusedWith(as('/other').batches.cancel(batch.id)), '404 kept_not_found');
  t.same(await costsOf(batch.id), [[1_000, 100, 6_000_000]], 'once, at half the price of the model that was asked for');
  const listed = await team.batches.create(asked);
  await team.batches.list();
  t.same(await costsOf(listed.id), [[1_000, 100, 6_000_000]], 'a list tells its end, too');
  const output = batch.output_file_id ?? '';
  t.notMatch(await refusedWith(team.files.retrieve(output)), /kept_not_found/, 'known; the provider has none');
  t.equal(await refusedWith(as('/other').files.retrieve(output)), '404 kept_not_found');
});

await test('a batch whose object tells no usage is charged when its output is read, once', async (t) => {
  const team = as('/team');
  const input = await team.files.create(
    { file: await toFile(Buffer.from(line('small')), 'in.jsonl'), purpose: 'batch' },
    at('first'),
  );
  const asked = { input_file_id: input.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  const batch = await team.batches.create(asked);
  const { owner, body } = kept.batches.get(batch.id) as KeptFile;
  const { usage: _usage, ...silent } = body;
  kept.batches.set(batch.id, { owner, body: silent, content: Buffer.alloc(0) });
  const said = { model: 'a-dated-name', usage: { prompt_tokens: 500, completion_tokens: 50, total_tokens: 550 } };
  const lines = ['a', 'b'].map((custom_id) =>
    JSON.stringify({ custom_id, response: { status_code: 200, body: said } }),
  );
  const output = batch.output_file_id ?? '';
  kept.files.set(output, { owner, body: { id: output }, content: Buffer.from(lines.join('\n')) });
  t.match(await team.batches.retrieve(batch.id), { status: 'completed' });
  for (const _ of [1, 2]) t.equal(await (await team.files.content(output)).text(), lines.join('\n'));
  t.same(await costsOf(batch.id), [[1_000, 100, 6_000_000]]);
});

await test('the submission of a batch has a price: what it costs is told later, in a record of its own', async (t) => {
  const submitted = journaled(gateway).filter(({ path, method }) => path === '/v1/batches' && method === 'POST');
  t.ok(submitted.length > 0);
  const costs = submitted.flatMap(({ attempts }) => attempts.map(({ usage }) => usage?.cost?.total ?? null));
  t.same(new Set(costs), new Set([0]));
});

await test('lists show what a user path has at all providers, newest first, in pages', async (t) => {
  const team = as('/lists');
  const ids: string[] = [];
  for (const name of ['first', 'second', 'plain', 'first', 'second']) {
    const file = await toFile(Buffer.from('x'), 'a.txt');
    ids.push((await team.files.create({ file, purpose: name === 'plain' ? 'vision' : 'user_data' }, at(name))).id);
  }
  const ofOthers = await as('/lists/below').files.list();
  t.same(ofOthers.data, []);
  const listed: string[] = [];
  for await (const { id } of team.files.list({ limit: 2 })) listed.push(id);
  t.same([...listed].sort(), [...ids].sort());
  const all = await team.files.list();
  const times = all.data.map(({ created_at }) => created_at);
  t.same(
    times,
    [...times].sort((a, b) => b - a),
  );
  t.same(
    (await team.files.list({ purpose: 'vision' })).data.map(({ id }) => id),
    [ids[2]],
  );
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'order=asc', 'after=file-unknown']) {
    const { status } = await gateway.fetch(`/v1/files?${query}`);
    t.equal(status, query.startsWith('after') ? 404 : 400, query);
  }
  await second.behave({ kind: 'error', status: 500 });
  const partly = await gateway.fetch('/v1/files', { headers: { 'x-gateway-user-path': '/lists' } });
  t.equal(partly.headers.get('x-gateway-incomplete'), 'plain, second');
  t.equal(((await partly.json()) as { data: unknown[] }).data.length, 2);
  await keepThings(second, 'b', keptToo);
});

await test('a batch counts one request of its user path, holds no slot, and no rule of its provider applies', async (t) => {
  const batchOf = async (path: string): Promise<string> => {
    const file = await toFile(Buffer.from(line('small')), 'in.jsonl');
    const { id } = await as(path).files.create({ file, purpose: 'batch' }, at('first'));
    const asked = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
    return refusedWith(as(path).batches.create(asked));
  };
  t.same([await batchOf('/busy'), await batchOf('/busy')], ['answered', '429 rate_limit_exceeded']);
  t.equal((await as('/busy').batches.list()).data.length, 1, 'reading is not counted');
  t.same(new Set(await Promise.all(Array.from({ length: 6 }, () => batchOf('/slots')))), new Set(['answered']));
});

await test('uploads that cannot be used are refused, and no file is kept', async (t) => {
  const before = kept.files.size;
  const upload = async (content: string, purpose: 'batch' | 'user_data' = 'batch'): Promise<string> => {
    const file = await toFile(Buffer.from(content), 'in.jsonl');
    return as('/team')
      .files.create({ file, purpose }, at('first'))
      .then(
        () => 'answered',
        (error: unknown) => (error instanceof APIError ? `${codeOf(error)} ${error.message}` : String(error)),
      );
  };
  t.match(
    await upload(line('small') + line('unknown')),
    /^400 invalid_batch_input .*line 2 .*"unknown" does not exist/,
  );
  t.match(await upload(line('claude/claude-real')), /^400 invalid_batch_input .*line 1 .*other providers/);
  t.match(await upload(`${line('small')}{"body":{}}`), /^400 invalid_batch_input .*line 2/);
  t.match(await upload(`${line('small')}{"x":"${'y'.repeat(1_100_000)}"}`), /^400 invalid_batch_input .*longer/);
  t.match(await upload('no batch at all'), /^400 invalid_upload/);
  t.match(await upload(line('small').replace('"body":', '"BODY":{},"body":')), /^400/);
  const form = (text: string): Promise<number> =>
    gateway
      .fetch('/v1/files?provider=first', {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        body: text.replaceAll('\n', '\r\n'),
      })
      .then(({ status }) => status);
  const file = '--b\nContent-Disposition: form-data; name="file"; filename="f"\n\nx\n';
  for (const wrong of [
    '',
    'x',
    '--b--\n',
    file,
    `x${file}--b--\n`,
    `${file}${file}--b--\n`,
    file.replace('"file"', 'file'),
  ]) {
    t.equal(await form(wrong), 400, wrong);
  }
  const field = '--b\nContent-Disposition: form-data; name="provider"\n\nfirst\n';
  t.equal(await form(`${file}${field}--b--\n`), 400, 'the provider comes too late');
  t.equal(kept.files.size, before);
  t.equal(await form(`${field}${file}--b--\n`), 200);
  t.notMatch(first.ledger.at(-1)?.body.toString(), /provider/);
});

await test('batches of messages: models are named as their provider does, results come from here', async (t) => {
  const claude = (path: string) =>
    new Anthropic({
      apiKey: gateway.masterKey,
      baseURL: gateway.url,
      maxRetries: 0,
      defaultHeaders: { 'x-gateway-user-path': path },
    });
  const { batches } = claude('/team').messages;
  const requestOf = (model: string) => ({
    custom_id: model,
    params: { model, max_tokens: 1, messages: [{ role: 'user' as const, content: 'hi' }] },
  });
  const made = await batches.create({ requests: [requestOf('haiku'), requestOf('claude-other')] });
  const sent = second.ledger.at(-1);
  t.match(sent?.json(), { requests: [{ params: { model: 'claude-real' } }, { params: { model: 'claude-other' } }] });
  t.match(sent?.header('anthropic-version'), /^20/);
  t.match(await batches.retrieve(made.id), { id: made.id });
  const results: string[] = [];
  for await (const { custom_id } of await batches.results(made.id)) results.push(custom_id);
  t.same(results, ['r0', 'r1', 'r2']);
  for await (const { custom_id } of await batches.results(made.id)) t.match(custom_id, /^r/);
  const costs = [
    [2_000, 200, 6_000_000],
    [1_000, 100, undefined],
  ];
  t.same(await costsOf(made.id), costs, 'once, each model at its share, none as one long request');
  t.match(await batches.cancel(made.id), { processing_status: 'canceling' });
  const listed: string[] = [];
  for await (const { id, results_url } of batches.list()) listed.push(id, results_url ?? '');
  t.same(listed, [made.id, `/v1/messages/batches/${made.id}/results`]);
  const ofOther = claude('/other').messages.batches;
  const statusOf = (call: Promise<unknown>) =>
    call.then(
      () => 200,
      (error: { status?: number }) => error.status,
    );
  t.same([await statusOf(ofOther.retrieve(made.id)), await statusOf(ofOther.delete(made.id))], [404, 404]);
  for (const requests of [[], [requestOf('haiku'), requestOf('small')], [requestOf('unknown')], [requestOf('small')]]) {
    t.equal(await statusOf(batches.create({ requests })), 400);
  }
  await batches.delete(made.id);
  t.equal(await statusOf(batches.retrieve(made.id)), 404);
});

await test('a flood of lists and of uploads that break off ends, and leaves nothing behind', async (t) => {
  const lists = Array.from({ length: 100 }, () =>
    gateway.fetch('/v1/files').then(async (answer) => {
      await answer.text();
      return answer.status;
    }),
  );
  const statuses = new Set(await Promise.all(lists));
  t.ok(statuses.has(200));
  t.ok([...statuses].every((status) => status === 200 || status === 503));
  const head = 'POST /v1/files?provider=first HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n';
  const login = `Authorization: Bearer ${gateway.masterKey}\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n`;
  const form = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nx\n';
  for (let left = 0; left < 50; left += 1) {
    const socket = connect(gateway.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(head + login + form.slice(0, left * 2));
    setImmediate(() => socket.destroy());
    await once(socket, 'close');
  }
  await waitFor('their end', async () => (await gateway.metric('gateway_requests_in_flight')) === 0);
});

await test('nothing failed', (t) => {
  t.same([first.malformed, second.malformed, gateway.process.stderr], [[], [], []]);
  t.notMatch(gateway.process.stdout.join('\n'), /"level":"(error|fatal)"/);
  t.end();
});
