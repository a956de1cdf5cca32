// Stored responses on their way into a real store: found while they are written, bounded for each owner, read out of any pieces of an answer.
import { type Test, test } from 'tap';
import type { Sink } from '../../proxy/answer.ts';
import { readCall } from '../../proxy/call/call.ts';
import type { JsonObject } from '../../proxy/dialects/json/json.ts';
import { BodyBudget } from '../../proxy/http/body-budget.ts';
import { keepResponses } from '../../proxy/kept/kept-responses.ts';
import { responseTap } from '../../proxy/kept/responses/response-tap.ts';
import { StoredResponses } from '../../proxy/kept/responses/stored-responses.ts';
import { recall } from '../../proxy/stages/recall.ts';
import type { KeptLimits } from '../../store/state/kept-items.ts';
import { openStateStore } from '../../store/state/open.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { refusedBy } from './stage-parts.ts';

interface Stand {
  readonly responses: StoredResponses;
  readonly failures: unknown[];
  readonly close: () => Promise<void>;
}

function start(t: Test, keptLimits: Partial<KeptLimits> = {}): Stand {
  const store = openStateStore({ directory: temporaryDirectory(t), nowMs: Date.now, keptLimits, timeoutMs: 10_000 });
  t.teardown(() => store.close());
  const failures: unknown[] = [];
  const settings = { isEnabled: true, ttlMs: 3_600_000 };
  const kept = keepResponses({ kept: store.kept, nowMs: Date.now, settings: () => settings });
  return {
    failures,
    close: () => store.close(),
    responses: new StoredResponses({ kept, failed: (error) => failures.push(error) }),
  };
}

const record = (id: string, text = '') => ({ response: { id, output: [{ type: 'message', text }] }, input_items: [] });

await test('what is being written is found at once, by its owner alone, and a deleted one is not found again', async (t) => {
  const { responses } = start(t);
  responses.keep('resp_1', '/team', record('resp_1', 'first'), 100);
  responses.keep('resp_1', '/team', record('resp_1', 'second'), 100);
  responses.remember('resp_2', '/team', { provider: 'p', key: 'k' });
  const found = { record: record('resp_1', 'second') };
  t.same(await responses.find('resp_1', '/team'), found);
  t.equal(await responses.find('resp_1', '/'), undefined);
  await responses.settled();
  t.same(await responses.find('resp_1', '/team'), found, 'the last one stays');
  t.same(await responses.find('resp_2', '/team'), { home: { provider: 'p', key: 'k' } });
  responses.keep('resp_3', '/team', record('resp_3'), 100);
  await responses.forget('resp_3', '/team');
  t.equal(await responses.find('resp_3', '/team'), undefined, 'no write comes later');
  t.same(responses.counts, { kept: 3, remembered: 1, not_kept: 0, failed: 0 });
});

await test('a long response that is still being read is found, and as many are read as memory is given to', async (t) => {
  const { responses } = start(t);
  const read = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    responses.keep('resp_1', '/team', record('resp_1'), 100);
  };
  void responses.reading('/team', 20 << 20, read);
  void responses.reading('/team', 20 << 20, async () => void t.fail('it is read'));
  t.equal(responses.counts.not_kept, 1, 'there is no room for the second one');
  t.equal(await responses.find('resp_1', '/'), undefined, 'others do not wait for it');
  t.same(await responses.find('resp_1', '/team'), { record: record('resp_1') });
  void responses.reading('/team', 20 << 20, async () => undefined);
  t.equal(responses.counts.not_kept, 1, 'the room is given back');
  await responses.settled();
  void responses.reading('/team', 20 << 20, () => Promise.reject(new Error('broken')))?.catch(() => undefined);
  t.equal(await responses.find('resp_2', '/team'), undefined, 'what cannot be read is not there');
});

await test('an owner that stores without end drives out its own responses, and takes bounded memory', async (t) => {
  const { responses, failures, close } = start(t, { owner: 20_000 });
  responses.keep('resp_quiet', '/quiet', record('resp_quiet'), 100);
  for (let index = 0; index < 40; index += 1) {
    responses.keep(`resp_${index}`, '/loud', record(`resp_${index}`, 'x'.repeat(1_000)), 1_000);
    await responses.settled();
  }
  t.ok(await responses.find('resp_quiet', '/quiet'));
  t.ok(await responses.find('resp_39', '/loud'));
  t.equal(await responses.find('resp_0', '/loud'), undefined);
  responses.keep('resp_much', '/loud', record('resp_much'), 33 << 20);
  t.equal(await responses.find('resp_much', '/loud'), undefined, 'more than may wait to be written');
  responses.keep('msg_1', '/loud', record('msg_1'), 10);
  t.equal(responses.counts.not_kept, 2);
  await close();
  responses.remember('resp_late', '/loud', { provider: 'p', key: 'k' });
  await responses.settled();
  t.match([responses.counts.failed, failures.length], [1, 1]);
  t.match(await refusedBy(() => responses.find('resp_39', '/loud')), {
    status: 503,
    code: 'stored_responses_unavailable',
  });
});

const response = { id: 'resp_1', status: 'completed', output: [{ text: 'a "response.completed" of ünicode' }] };
const event = (type: string, more: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const events = Buffer.from(
  [
    ': hello\n\n',
    event('response.created', { response: { ...response, output: [] } }),
    event('response.output_text.delta', { delta: 'response.completed "response"' }),
    event('response.completed', { response }),
  ].join(''),
);

await test('a long response is read in steps, and taken like a short one', async (t) => {
  const long = { ...response, output: [{ text: 'ü'.repeat(100_000) }] };
  const seen: JsonObject[] = [];
  const reads: Promise<void>[] = [];
  const tap = responseTap(
    { stream: false },
    {
      needsOnlyId: false,
      mostBytes: 1 << 20,
      take: (given) => void seen.push(given),
      readLong(bytes, read) {
        t.ok(bytes > 200_000);
        reads.push(read());
      },
      lost: () => t.fail('it is lost'),
    },
  );
  const sink = tap.open({ write: () => true, end: () => undefined });
  sink.write(Buffer.from(JSON.stringify(long)));
  sink.end(undefined);
  t.same(seen, []);
  await Promise.all(reads);
  t.same(seen, [long]);
});

/** What a tap takes of an answer, and what the client gets, when it comes in these pieces. */
function taken(pieces: readonly Buffer[], needsOnlyId = false, answer: { stream?: boolean } = {}) {
  const seen = { responses: [] as JsonObject[], lost: 0, passed: '' };
  const next: Sink = {
    write(chunk) {
      seen.passed += chunk.toString('latin1');
      return true;
    },
    end: () => undefined,
  };
  const tap = responseTap(
    { stream: true, ...answer },
    {
      needsOnlyId,
      mostBytes: 10_000,
      take: (given) => void seen.responses.push(given),
      lost() {
        seen.lost += 1;
      },
    },
  );
  const sink = tap.open(next);
  for (const piece of pieces) {
    const reused = Buffer.from(piece);
    sink.write(reused);
    reused.fill(0);
  }
  sink.end(undefined);
  return seen;
}

await test('a response is read out of an answer at every split, and every byte passes', async (t) => {
  const body = Buffer.from(JSON.stringify(response));
  for (const [bytes, stream] of [
    [events, true],
    [body, false],
  ] as const) {
    for (let at = 0; at <= bytes.length; at += 1) {
      const pieces = [bytes.subarray(0, at), bytes.subarray(at)];
      for (const needsOnlyId of [false, true]) {
        const { responses, passed, lost } = taken(pieces, needsOnlyId, { stream });
        const isRight =
          responses.length === 1 &&
          lost === 0 &&
          responses[0]?.['id'] === 'resp_1' &&
          passed === bytes.toString('latin1');
        if (!isRight) t.fail(`split at ${at}`, { responses, lost });
      }
    }
  }
  t.same(taken([events]).responses, [response]);
  t.same(taken([events.subarray(0, -20)]).responses, [], 'a stream that broke off is none');
});

await test('what is too long, or no object, is lost', async (t) => {
  const body = Buffer.from(JSON.stringify(response));
  for (const [pieces, answer] of [
    [[Buffer.alloc(6_000, 0x20), Buffer.alloc(6_000, 0x20)], { stream: false }],
    [[body.subarray(1)], { stream: false }],
    [Array.from({ length: 18 }, () => Buffer.alloc(1 << 20, 0x61)), { stream: true }],
  ] as const) {
    t.match(taken(pieces, false, answer), { responses: [], lost: 1 });
  }
});

await test('a call that goes on from a response is as long as all that was said, and is bounded so', async (t) => {
  const { responses } = start(t);
  responses.keep('resp_1', '/', record('resp_1', 'x'.repeat(3 << 20)), 3 << 20);
  const bodies = new BodyBudget(2 ** 30);
  const recalling = (bodyLimitBytes: number) => ({
    endpoint: { goesOn: true },
    principal: { keyId: undefined, userPath: '/' },
    snapshot: { bodyLimitBytes, allowsUnknownObjects: false },
    held: bodies.open('/', { bodyLimitBytes: 2 ** 25, bodyBudgetBytes: undefined }),
  });
  const homes = { find: async () => undefined, ownerOf: async () => undefined };
  const parts = { storedResponses: responses, homes };
  const call = readCall(Buffer.from('{"model":"m","input":"two","previous_response_id":"resp_1","seed":1.50}'));
  const { call: whole, home } = await recall(call, recalling(4 << 20), parts);
  t.match([whole.model, whole.continues, home], ['m', { id: 'resp_1', itemsBefore: 1 }, undefined]);
  t.ok(whole.body.length > 3 << 20);
  t.equal(bodies.held, whole.body.length);
  t.match(whole.body.toString('utf8'), /"seed":1\.50\b/, 'no number is changed');
  const refused = await refusedBy(() => recall(call, recalling(1 << 20), parts));
  t.match(refused, { status: 413, code: 'body_too_large' });
  for (const body of ['{"model":"m"}', '{"model":"m","previous_response_id":null}']) {
    const plain = readCall(Buffer.from(body));
    t.same(recall(plain, recalling(1), parts), { call: plain, home: undefined }, 'nothing is waited for');
  }
});
