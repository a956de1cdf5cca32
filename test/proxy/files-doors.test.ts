// /v1/files and /v1/batches: whatever is uploaded goes to one provider, and comes back to the user path that sent it alone.
import OpenAI, { toFile } from 'openai';
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { keepThings } from '../support/keeping-provider.ts';

const first = await startFakeUpstream({ t: suite });
const second = await startFakeUpstream({ t: suite });
const kept = await keepThings(first, 'a');
await keepThings(second, 'b');
const key = `\${TEST_PROVIDER_KEY}`;
const provider = { type: 'groq', api_key: key, models: ['real-small'] };
const gateway = await startGateway(suite, {
  config: {
    server: { upload_limit: '32MiB' },
    providers: {
      first: { ...provider, base_url: first.url, api_keys: [key, 'sk-another-key-0123456789'], api_key: undefined },
      second: { ...provider, base_url: second.url },
      plain: { ...provider, type: 'mistral', base_url: second.url },
      maybe: { ...provider, type: 'openai', base_url: second.url },
      none: { ...provider, type: 'cohere', base_url: second.url },
    },
    aliases: [{ source: 'small', target: 'first/real-small' }],
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
  error instanceof OpenAI.APIError ? `${error.status} ${error.code}` : String(error);
const refusedWith = (call: PromiseLike<unknown>): PromiseLike<string> => call.then(() => 'answered', codeOf);

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
  let team = as('/team');
  const file = await toFile(Buffer.from(line('small') + line('first/real-small', 'two')), 'in.jsonl');
  const input = await team.files.create({ file, purpose: 'batch' }, at('first'));
  t.equal(kept.files.get(input.id)?.content.toString(), line('real-small') + line('real-small', 'two'));
  const asked = { input_file_id: input.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  t.equal(await refusedWith(as('/other').batches.create(asked)), '404 kept_not_found');
  const batch = await team.batches.create(asked);
  await gateway.restart();
  team = as('/team');
  t.match(await team.batches.retrieve(batch.id), { id: batch.id, status: 'completed' });
  t.match(await team.batches.cancel(batch.id), { status: 'cancelling' });
  t.equal(await refusedWith(as('/other').batches.retrieve(batch.id)), '404 kept_not_found');
  t.equal(await refusedWith(as('/other').batches.cancel(batch.id)), '404 kept_not_found');
  const output = batch.output_file_id ?? '';
  t.notMatch(await refusedWith(team.files.retrieve(output)), /kept_not_found/, 'known; the provider has none');
  t.equal(await refusedWith(as('/other').files.retrieve(output)), '404 kept_not_found');
});
