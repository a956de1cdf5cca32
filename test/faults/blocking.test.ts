// Nothing that a client or a provider sends, up to the longest that is accepted, holds the event loop for longer than 50 ms.
import { t as suite, test } from 'tap';
import { isFull } from '../support/extent.ts';
import { issueKey } from '../support/issue-key.ts';
import { type Measured, mostMs, type Sent, startMeasuredGateway } from '../support/measured-gateway.ts';
import { answers, passed, requests } from './blocking-cases.ts';

suite.setTimeout(240_000);

const guarded = { user_paths: ['/guarded'], on: ['input', 'output'] };
const measured = await startMeasuredGateway(suite, {
  server: { body_budget: '256MiB' },
  guardrails: [
    { name: 'masks', ...guarded, pii: { kinds: ['email', 'phone', 'iban', 'card'], action: 'mask' } },
    { name: 'words', ...guarded, keywords: { words: ['Bluebird'], action: 'redact' } },
    { name: 'patterns', ...guarded, regex: { patterns: ['EMP-[0-9]{6}'], action: 'redact' } },
  ],
});
const secret = await issueKey(suite, measured.gateway, { userPath: '/t/a' });
const guardedSecret = await issueKey(suite, measured.gateway, { userPath: '/guarded' });
const nothing = { type: 'application/json', body: Buffer.from('{}') };

const quickest = (sent: Sent, answered = nothing): Promise<Measured> => measured.quickest(sent, answered);

/** All of them; in a short run one for each case, another one for the next. */
function someOf<Entry>(all: readonly Entry[], index: number): readonly Entry[] {
  return isFull ? all : all.slice(index % all.length).slice(0, 1);
}

const targets = ['chat/m', 'anthropic/claude-3-5-sonnet', 'gemini/m', 'bedrock/m', 'responses/m'];

for (const [index, [name, make]] of Object.entries(requests).entries()) {
  await test(`a request with ${name}`, async (t) => {
    const inside = make();
    for (const model of someOf(targets, index)) {
      const body = `{"model":"${model}",${inside}}`;
      t.ok(body.length <= 32 * 2 ** 20);
      const { status, longestMs } = await quickest({ path: '/v1/chat/completions', body });
      t.ok(longestMs < mostMs, `${longestMs.toFixed(0)} ms to ${model}, answered ${status}`);
      t.ok(status >= 400, `the request ends with ${status}`);
    }
  });
}

/** What a caller without the master key sends is looked at there. */
const lookingDoors = ['/p/chat/files', '/p/chat/some/endpoint'];

await test('what is looked at while it passes', async (t) => {
  for (const [index, [name, [type, make]]] of Object.entries(passed).entries()) {
    const body = make();
    for (const path of someOf(lookingDoors, index)) {
      const { status, longestMs } = await quickest({ path, type, body, secret });
      t.ok(longestMs < mostMs, `${name}: ${longestMs.toFixed(0)} ms at ${path}, answered ${status}`);
    }
  }
});

/** Of a short run: the longest texts, and the most of them. */
const guardedShapes = isFull
  ? Object.keys(requests)
  : ['backslashes', 'many messages', 'colliding members', 'many numbers'];

await test('what guardrails look at', async (t) => {
  for (const name of guardedShapes) {
    const make = requests[name];
    if (make === undefined) throw new Error(`there is no request with ${name}`);
    const body = `{"model":"chat/m",${make()}}`;
    const { status, longestMs } = await quickest({ path: '/v1/chat/completions', body, secret: guardedSecret });
    t.ok(longestMs < mostMs, `${name}: ${longestMs.toFixed(0)} ms, answered ${status}`);
  }
});

await test('what guardrails are tried on', async (t) => {
  const members = Array.from({ length: 60_000 }, (_, index) => `"k${index}":${index}`).join(',');
  const sent = { path: '/admin/guardrails/test', body: `{"body":{${members}}}` };
  const { status, longestMs } = await quickest(sent);
  t.ok(longestMs < mostMs, `${longestMs.toFixed(0)} ms`);
  t.equal(status, 200);
});

/** Of a short run: the longest answer that is looked at, and the most texts of one. */
const guardedAnswers = Object.entries(answers).filter(
  ([name, { model, isStream }]) =>
    model === 'chat/m' && !isStream && (isFull || ['escapes', 'many more invalid calls'].includes(name)),
);

await test('what guardrails look at in an answer', async (t) => {
  const body = '{"model":"chat/m","messages":[{"role":"user","content":"mail me at a@example.com"}]}';
  for (const [name, { body: make }] of guardedAnswers) {
    const answered = { type: 'application/json', body: Buffer.from(make()) };
    const { status, longestMs } = await quickest(
      { path: '/v1/chat/completions', body, secret: guardedSecret },
      answered,
    );
    t.ok(longestMs < mostMs, `${name}: ${longestMs.toFixed(0)} ms, answered ${status}`);
  }
});

/** Of a short run: the longest event, and the most lines of one. */
const guardedStreams = Object.entries(answers).filter(
  ([name, { isStream }]) => isStream && (isFull || ['a long event', 'comments', 'empty lines'].includes(name)),
);

await test('what guardrails look at in a stream', async (t) => {
  const asked = { stream: true, messages: [{ role: 'user', content: 'mail me at a@example.com' }] };
  for (const [name, { model, body: make }] of guardedStreams) {
    const body = JSON.stringify({ model, ...asked });
    const answered = { type: typeOf(model, true), body: Buffer.from(make()) };
    const sent = { path: '/v1/chat/completions', body, secret: guardedSecret };
    const { status, longestMs } = await quickest(sent, answered);
    t.ok(longestMs < mostMs, `${name}: ${longestMs.toFixed(0)} ms, answered ${status}`);
    t.equal(status, 200);
  }
});

/** What answers of a provider are. */
function typeOf(model: string, isStream: boolean): string {
  if (!isStream) return 'application/json';
  return model.startsWith('bedrock') ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
}

const doors: Readonly<Record<string, object>> = {
  '/v1/chat/completions': {
    messages: [{ role: 'user', content: 'q' }],
    tools: [{ type: 'custom', custom: { name: 'f' } }],
  },
  '/v1/messages': { max_tokens: 9, messages: [{ role: 'user', content: 'q' }] },
  '/v1/responses': { input: 'q', tools: [{ type: 'custom', name: 'f' }] },
};

for (const [index, [name, { model, isStream, body }]] of Object.entries(answers).entries()) {
  await test(`${isStream ? 'a stream' : 'an answer'} with ${name}`, async (t) => {
    const bytes = Buffer.from(body());
    const type = typeOf(model, isStream);
    for (const [path, request] of someOf(Object.entries(doors), index)) {
      const sent = { path, body: JSON.stringify({ model, stream: isStream, ...request }) };
      const { status, longestMs } = await quickest(sent, { type, body: bytes });
      t.ok(longestMs < mostMs, `${longestMs.toFixed(0)} ms at ${path}, answered ${status}`);
      t.ok(status > 0);
    }
  });
}
