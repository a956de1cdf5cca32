// What is recorded of requests under guardrails, with bodies on: what they let through, and the original only where the configuration says so.
import { t as suite, test } from 'tap';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { completeEntry } from '../../store/records/sql/read/entry-forms.ts';
import { type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import { journaled, journalText, recordOf } from '../support/journal.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const mail = 'bob@example.com';
const card = '4111 1111 1111 1111';
const canary = /bob@example\.com|4111 1111|Bluebird/;
const price = { input_per_mtok: 1, output_per_mtok: 1 };
const guardrails = [
  { name: 'mask', user_paths: ['/masked'], pii: { kinds: ['email'] } },
  { name: 'house', user_paths: ['/masked'], system_prompt: { text: `Be kind to ${'everyone '.repeat(9)}.` } },
  { name: 'early', user_paths: ['/twice'], system_prompt: { text: 'Be kind.' } },
  { name: 'late', user_paths: ['/twice'], keywords: { words: ['Bluebird'], action: 'redact', replacement: '' } },
  { name: 'no-cards', user_paths: ['/twice', '/out'], pii: { kinds: ['card'], action: 'block' } },
  { name: 'names', user_paths: ['/out'], on: ['output'], keywords: { words: ['Bluebird'], action: 'redact' } },
  { name: 'judge', user_paths: ['/judged'], order: -1, llm: { model: 'fake-large', prompt: 'Judge.', fail: 'open' } },
  { name: 'judged', user_paths: ['/judged'], pii: { kinds: ['email'] } },
];
const upstream = await startFakeUpstream({ t: suite });
const config = {
  audit: { bodies: true },
  usage: { prices: { openai: { 'fake-small': price } } },
};
const gateway = await shareGateway({ upstream, config, files: { 'guardrails.yaml': { guardrails } } });
const heardIn = (entry: Entry): string =>
  (entry.json() as { messages?: { content: string }[] }).messages?.at(-1)?.content ?? '';
suite.beforeEach(() => upstream.behave((entry) => ({ kind: 'openai', content: heardIn(entry) })));

const messagesIn = (body: unknown): unknown => (body as { messages?: object[] } | undefined)?.messages ?? [];

interface Told {
  readonly text: string;
  readonly status: number;
  readonly record: RequestRecord;
}

async function ask(userPath: string, path: string, body: object): Promise<Told> {
  const headers = { 'x-gateway-user-path': userPath };
  const response = await gateway.fetch(path, { method: 'POST', body: { model: 'fake-small', ...body }, headers });
  const text = await response.text();
  return { text, status: response.status, record: await recordOf(gateway, response.headers.get('x-request-id') ?? '') };
}

const user = (content: string) => ({ messages: [{ role: 'user', content }] });
const chat = (userPath: string, content: string, more: object = {}): Promise<Told> =>
  ask(userPath, '/v1/chat/completions', { ...user(content), ...more });

await test('the recorded request is what was sent, and the recorded answer has placeholders', async (t) => {
  for (const stream of [false, true]) {
    const { text, record } = await chat('/masked', `I am ${mail}.`, { stream });
    t.match(text, mail.slice(0, 5), 'the client has its words back');
    t.same(messagesIn(record.data?.request_body), messagesIn(upstream.ledger.at(-1)?.json()));
    t.match(record.data?.response_body, { choices: [{ message: { content: 'I am [EMAIL_1].' } }] });
    t.notMatch(JSON.stringify(record), canary);
  }
});

await test('a revision has what it made, its verdict, and the tokens that it saved', async (t) => {
  const { record } = await chat('/masked', `I am ${mail}.`);
  const [masked, kind] = record.data?.request_revisions ?? [];
  const messages = [{ role: 'user', content: 'I am [EMAIL_1].' }];
  t.match(masked, { rewriter: 'mask', body: { messages }, detail: { outcome: 'revise', reason: 'email' } });
  t.match(kind, { rewriter: 'house', body: record.data?.request_body, detail: { outcome: 'revise' } });
  t.ok(Number(kind?.tokens_saved) < -10, 'words that are put in cost tokens');
  t.equal(completeEntry(record, record.data ?? {}).usage?.rewrite_tokens_saved, 0, 'and save none');

  const long = await chat('/twice', `Bluebird ${'Bluebird '.repeat(99)}`);
  const [early, late] = long.record.data?.request_revisions ?? [];
  t.same(Object.keys(early ?? {}).includes('body'), false, 'a later guardrail has taken something out of it');
  t.match(late, { rewriter: 'late', body: long.record.data?.request_body });
  const saved = Number(late?.tokens_saved);
  t.ok(saved > 100, `${saved} tokens`);
  t.notMatch(JSON.stringify(long.record), canary);
  const { usage } = completeEntry(long.record, long.record.data ?? {});
  const net = saved + Number(early?.tokens_saved);
  t.equal(usage?.rewrite_tokens_saved, net);
  t.equal(usage?.rewrite_cost_saved, net / 1e6, 'at the price of its other tokens');
});

await test('of a request that is refused no body is recorded', async (t) => {
  const { status, record } = await chat('/twice', `Bluebird pays with ${card}`);
  t.equal(status, 400);
  t.equal(record.data?.request_body, undefined);
  t.match(record.data?.request_revisions, [{ rewriter: 'early' }, { rewriter: 'late', detail: { outcome: 'revise' } }]);
  t.match(record.data?.guardrails?.at(-1), { name: 'no-cards', outcome: 'block', reason: 'card' });
  t.notMatch(JSON.stringify(record), canary);
  const unknown = await chat('/masked', mail, { model: 'nobody' });
  t.equal(unknown.status, 404);
  t.notMatch(JSON.stringify(unknown.record), canary, 'nor of one that no guardrail has looked at');
  const free = await chat('/free', mail, { model: 'nobody' });
  t.match(free.record.data?.request_body, user(mail), 'where none holds, it is recorded as before');
});

await test('what guardrails take out of an answer is not recorded', async (t) => {
  for (const stream of [false, true]) {
    const { text, record } = await chat('/out', 'the Bluebird', { stream });
    t.match(text, /redacted/);
    t.match(record.data?.response_body, { choices: [{ message: { content: 'the [redacted]' } }] });
    t.match(record.data?.request_body, user('the Bluebird'), 'it is no secret in a request');
  }
  await upstream.behave({ kind: 'json', status: 500, body: '{"error":{"message":"the Bluebird fell"}}' });
  const failed = await chat('/out', 'hi');
  t.ok(failed.record.attempts.length > 0);
  t.notMatch(JSON.stringify(failed.record.attempts.map((each) => each.response_body)), /Bluebird/);
});

await test('a response repeats the prompt as it was sent, in the record alone', async (t) => {
  for (const stream of [false, true]) {
    const { text, record } = await ask('/masked', '/v1/responses', {
      instructions: `Ask ${mail}`,
      input: 'hi',
      stream,
    });
    t.match(text, new RegExp(mail));
    t.match(record.data?.response_body, { output: [{ type: 'message' }] });
    t.notMatch(JSON.stringify(record), canary);
  }
});

await test('what a guardrail asks a model is not recorded before another one has masked it', async (t) => {
  await chat('/judged', mail);
  const records = await waitFor('both records', () => {
    const ours = journaled(gateway).filter(({ user_path: path }) => path.startsWith('/judged'));
    return ours.length === 2 && ours;
  });
  t.same(records.map(({ user_path: path }) => path).sort(), ['/judged', '/judged/guardrails/judge']);
  t.match(records.find(({ user_path: path }) => path === '/judged')?.data?.request_body, user('[EMAIL_1]'));
  t.notMatch(JSON.stringify(records), canary);
});

await test('an explanation of a request does not tell what its body calls the conversation', async (t) => {
  const explain = async (userPath: string): Promise<string> => {
    const headers = { 'x-gateway-user-path': userPath, 'x-gateway-explain': '1' };
    const body = { model: 'fake-small', user: mail, ...user(mail) };
    const answer = await gateway.fetch('/v1/chat/completions', { method: 'POST', headers, body });
    await answer.text();
    return (await gateway.fetch(`/admin/explain/${answer.headers.get('x-gateway-explain-id')}`)).text();
  };
  t.match(await explain('/free'), canary);
  const told = await explain('/masked');
  t.match(told, '"explanation"');
  t.notMatch(told, canary);
});

await test('nothing of it is in the journal or in the log', (t) => {
  const ours = journalText(gateway)
    .split('\n')
    .filter((line) => /"user_path":"\/(?:masked|twice|judged)/.test(line));
  t.ok(ours.length > 8);
  t.notMatch(ours.join('\n'), canary);
  t.notMatch(gateway.process.stdout.join('\n'), canary);
  t.end();
});

await test('the original is recorded where the configuration says so', async (t) => {
  await gateway.applyConfig({
    'gateway.yaml': JSON.stringify({ ...config, audit: { bodies: true, original_bodies: true } }),
  });
  const { record } = await chat('/masked', `I am ${mail}.`);
  t.match(record.data?.request_body, user(`I am ${mail}.`));
  t.match(record.data?.response_body, { choices: [{ message: { content: `I am ${mail}.` } }] });
  t.match(record.data?.request_revisions, [
    { rewriter: 'mask', body: { messages: [{ content: 'I am [EMAIL_1].' }] } },
    {},
  ]);
  const blocked = await chat('/twice', card);
  t.match(blocked.record.data?.request_body, user(card));
});
