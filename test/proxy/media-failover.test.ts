// Speech, transcripts, images, moderation and ranking when a target fails: the next one gets the same body, if it can be sent again.
import { t as suite, test } from 'tap';
import { type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import { openRaw, pause } from '../support/raw-http.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const doors = [
  'audio/speech',
  'images/generations',
  'moderations',
  'rerank',
  'audio/transcriptions',
  'audio/translations',
  'images/edits',
  'images/variations',
];
const isForm = (door: string): boolean => doors.indexOf(door) > 3;
/** A model for each fault, so that each meets targets of which nothing bad is known. */
const faults = ['refused', 'unavailable', 'limited', 'wrong', 'broken', 'early', 'long', 'late', 'full', 'cost'];
const idOf = (door: string) => door.replace('/', '-');
const names = [...faults, ...doors.map(idOf)];
const [first, second] = await Promise.all([
  startFakeUpstream({ t: suite, models: names }),
  startFakeUpstream({ t: suite, models: names.map((name) => `${name}-too`) }),
]);
const dialects = ['audio', 'images', 'moderations', 'rerank'];
const provider = (base_url: string, models: string[]) => ({ type: 'openai', base_url, models, dialects });
const gateway = await shareGateway({
  config: {
    server: { body_limit: '1MiB', access_log: 'all' },
    providers: {
      first: provider(first.url, names),
      second: provider(
        second.url,
        names.map((name) => `${name}-too`),
      ),
    },
    aliases: names.map((name) => ({
      source: `any-${name}`,
      strategy: 'failover',
      // One of its own for each, so that none uses up another's.
      retry: { budget: 1 },
      targets: [{ model: `first/${name}` }, { model: `second/${name}-too` }],
    })),
    rate_limits: { models: [{ model: 'first/full', limits: [{ period: 'day', max_requests: 1 }] }] },
  },
});

const type = 'multipart/form-data; boundary=B';
const field = (name: string, value: string, more = '') =>
  `--B\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const formOf = (model: string, bytes = 200_000) =>
  `${field('model', model)}${field('file', 'x'.repeat(bytes), '; filename="a.wav"')}--B--\r\n`;
const jsonOf = (model: string) => JSON.stringify({ input: 'a', query: 'a', documents: ['a'], prompt: 'a', model });
const bodyOf = (door: string, model: string) => (isForm(door) ? formOf(model) : jsonOf(model));

/** What comes of a request: its status, its code, and how often each provider saw all of it. */
async function ask(door: string, name: string, body = bodyOf(door, `any-${name}`)): Promise<string> {
  const before = [first.ledger.length, second.ledger.length];
  const headers = {
    'content-type': isForm(door) ? type : 'application/json',
    'x-request-id': `of-${idOf(door)}-${name}`,
  };
  const answer = await gateway.fetch(`/v1/${door}`, { method: 'POST', body, headers });
  const { error } = (await answer.json()) as { error?: { code: string | null } };
  const seen = [first, second].map(({ ledger }, index) => ledger.length - (before[index] ?? 0));
  return `${answer.status} ${error === undefined ? 'ok' : error.code}, ${seen.join(' and ')}`;
}

const whole = (entry: Entry | undefined): string => entry?.body.toString() ?? 'nothing';
suite.beforeEach(async () => {
  await first.behave({ kind: 'json', body: { ok: true } });
  await second.behave({ kind: 'json', body: { ok: true } });
});

await test('at each door, a connection that is refused leads to the next target', async (t) => {
  await first.behave({ kind: 'refused' });
  // The gateway may have served other tests before.
  const failovers = async () => (await gateway.metric('gateway_retries_total', { kind: 'failover' })) ?? 0;
  const before = await failovers();
  for (const door of doors) {
    t.equal(await ask(door, idOf(door)), '200 ok, 0 and 1', door);
    t.equal(whole(second.ledger.at(-1)), bodyOf(door, `${idOf(door)}-too`), `${door}: all of the body`);
  }
  t.equal((await failovers()) - before, doors.length);
});

await test('each attempt is recorded', async (t) => {
  await first.behave({ kind: 'error', status: 503 });
  t.equal(await ask('rerank', 'unavailable'), '200 ok, 1 and 1');
  const line = await waitFor('its line', () =>
    gateway.process.requests().find((said) => said['request_id'] === 'of-rerank-unavailable'),
  );
  t.match(line, {
    status: 200,
    attempts: [
      { provider: 'first', model: 'unavailable', status: 503 },
      { provider: 'second', model: 'unavailable-too', status: 200 },
    ],
  });
});

await test('a form goes on to the next target, whatever the first one had of it', async (t) => {
  await first.behave({ kind: 'early', next: { kind: 'error', status: 500 } });
  const form = formOf('any-early');
  const head = [
    'POST /v1/images/edits HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${gateway.masterKey}`,
    `Content-Type: ${type}`,
    `Content-Length: ${form.length}`,
  ];
  const raw = await openRaw(gateway.port);
  t.teardown(() => raw.socket.destroy());
  await raw.send(`${head.join('\r\n')}\r\n\r\n${form.slice(0, 90_000)}`, pause(150), form.slice(90_000));
  const answer = await raw.waitFor(({ responses }) => responses[0]);
  t.equal(answer.status, 200);
  t.equal(whole(second.ledger.at(-1)), form.replace('any-early', 'early-too'));
});

await test('what asks for a pause, and what refuses the request, are as for chat', async (t) => {
  await first.behave({ kind: 'error', status: 429, retryAfter: '30' });
  t.equal(await ask('moderations', 'limited'), '200 ok, 1 and 1');
  t.equal(await ask('moderations', 'limited'), '200 ok, 0 and 1', 'it is left alone then');
  await first.behave({ kind: 'error', status: 400 });
  t.match(await ask('moderations', 'wrong'), /^400 .*, 1 and 0$/);
  await first.behave({ kind: 'delay', ms: 250, next: { kind: 'reset' } });
  t.equal(await ask('audio/speech', 'broken'), '200 ok, 1 and 1', 'a connection that breaks is no answer');
});

await test('a target that is used up is skipped', async (t) => {
  t.equal(await ask('audio/speech', 'full'), '200 ok, 1 and 0');
  t.equal(await ask('audio/speech', 'full'), '200 ok, 0 and 1');
});

await test('a body that cannot be kept is not sent again', async (t) => {
  await first.behave({ kind: 'error', status: 503 });
  const long = formOf('any-long', 2_000_000);
  t.match(await ask('audio/transcriptions', 'long', long), /^503 .*, 1 and 0$/);
  await first.behave({ kind: 'refused' });
  t.equal(
    await ask('audio/transcriptions', 'late', formOf('any-late', 2_000_000)),
    '200 ok, 0 and 1',
    'nothing of it had passed',
  );
  t.equal(second.ledger.at(-1)?.body.length, formOf('late-too', 2_000_000).length);
});

await test('when all fail, the last word is that of the last target, and nothing is held', async (t) => {
  for (const upstream of [first, second]) await upstream.behave({ kind: 'error', status: 500 });
  t.match(await ask('images/variations', 'cost'), /^500 .*, 1 and 1$/);
  await waitFor('the requests to end', async () => (await gateway.metric('gateway_requests_in_flight')) === 0);
  t.equal(await gateway.metric('gateway_request_body_bytes'), 0);
  t.same([...first.malformed, ...second.malformed], []);
  t.notMatch(gateway.process.stdout.join('\n'), /"level":"(error|fatal)"/);
  t.same(gateway.process.stderr, []);
});
