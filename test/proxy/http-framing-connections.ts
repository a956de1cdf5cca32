// Checks of connections that carry many requests at once, or a request that never gets complete: pipelined, slow and silent clients.
import type { Test } from 'tap';
import { extent } from '../support/extent.ts';
import { openRaw, pause, type RawResponse, rawRequest, type Step } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';
import { base, chunkedCoding, length, malformed } from './http-framing-cases.ts';
import {
  chat,
  chatCall,
  chatLine,
  checkNext,
  checkRefusal,
  chunked,
  head,
  host,
  join,
  refusalFaults,
  type Stand,
  traffic,
} from './raw-cases.ts';

/** More than one read of a socket takes in. */
export const manyCalls = extent(1000, 150);
const silentClients = extent(500, 40);

export async function checkPipeline(t: Test, { gateway, upstream }: Stand, count: number): Promise<void> {
  const before = upstream.ledger.length;
  let open = 0;
  let most = 0;
  await upstream.behave(() => {
    open = upstream.ledger.slice(before).filter((entry) => !entry.finished).length;
    most = Math.max(most, open);
    return { kind: 'json', body: '{"object":"chat.completion"}' };
  });
  const ids = Array.from({ length: count }, (_, index) => `call-${index}`);
  const connection = await openRaw(gateway.port, { t });
  const sent = connection.send(Buffer.concat(ids.map((id) => chatCall(chat, `X-Request-Id: ${id}`))));
  const finished = (response: RawResponse | undefined) => response?.complete === true;
  await waitFor(
    'all answers',
    () => {
      const { responses, closedByServer } = connection.exchange();
      return closedByServer || (responses.length === count && finished(responses.at(-1)));
    },
    20_000,
  ).catch(() => undefined);
  const { responses } = connection.exchange();
  if (responses.length < count) connection.close();
  await sent;
  const answered = responses.map((response) => `${response.status} ${response.header('x-request-id')}`);
  const wanted = ids.map((id) => `200 ${id}`);
  t.equal(answered.length, count, 'every call is answered');
  t.same(answered.find((each, index) => each !== wanted[index]) ?? 'in order', 'in order');
  t.same(
    upstream.ledger.slice(before).map((entry) => entry.header('x-request-id')),
    ids,
    'and was made once, in order',
  );
  t.comment(`at most ${most} in flight for one connection`);
  t.ok(most <= 8, 'a handful in flight');
  if (responses.length === count) await checkNext(t, connection, count + 1);
  await upstream.behave({ kind: 'openai' });
}

export async function checkSlowPipeline(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const count = manyCalls;
  const before = upstream.ledger.length;
  await upstream.behave([{ kind: 'delay', ms: 1200 }]);
  const { responses } = await rawRequest(gateway.port, join(...Array.from({ length: count }, () => chatCall())), {
    until: count,
    deadlineMs: 20_000,
  });
  t.same(
    responses.filter(({ status }) => status !== 200).map((response) => response.text()),
    [],
  );
  t.equal(responses.length, count, 'all are answered');
  t.equal(upstream.ledger.length, before + count, 'and each was made once');
}

export async function checkBrokenSecond(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const before = upstream.ledger.length;
  const { responses, closedByServer } = await rawRequest(
    gateway.port,
    join(chatCall(), head('GET /v1/models HTTP/1.1', host, 'X A: b'), chatCall()),
    { until: 'close' },
  );
  t.equal(responses.length, 2);
  t.equal(responses[0]?.status, 200, 'the good one is served');
  checkRefusal(t, responses[1], malformed);
  t.ok(closedByServer);
  t.equal(upstream.ledger.length, before + 1, 'the one behind the broken one is not');
}

export async function checkSlow(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const seen = traffic(upstream);
  const drip = (text: string): Step[] => Array.from(text).flatMap((letter) => [letter, pause(10)]);
  const half = chat.slice(0, 10);
  const cases: [name: string, steps: Step[]][] = [
    ['a head that drips', drip(head(chatLine, ...base, length).repeat(2))],
    ['a head that stops', [`${chatLine}\r\nHost: a\r\n`]],
    ['a body that drips', [head(chatLine, ...base, 'Content-Length: 500'), ...drip(chat.repeat(3))]],
    ['a body that stops', [join(head(chatLine, ...base, length), half)]],
    ['a body that never begins', [head(chatLine, ...base, length)]],
    ['a chunked body that drips', [head(chatLine, ...base, chunkedCoding), ...drip('1\r\n \r\n'.repeat(50))]],
    ['a chunked body that never ends', [join(head(chatLine, ...base, chunkedCoding), chunked(chat).subarray(0, -5))]],
  ];
  const wrong = await Promise.all(
    cases.map(async ([name, steps]) => {
      const start = performance.now();
      const { responses, closedByServer } = await rawRequest(gateway.port, steps, { until: 'close' });
      const took = performance.now() - start;
      const faults = refusalFaults(responses[0], { status: 408, code: 'request_timeout' });
      if (responses.length !== 1) faults.push(`${responses.length} answers`);
      if (!closedByServer) faults.push('not closed');
      if (took < 290 || took >= 5000) faults.push(`cut after ${Math.round(took)} ms`);
      return faults.map((fault) => `${name}: ${fault}`);
    }),
  );
  t.same(wrong.flat(), [], 'each has one answer and is cut in time');
  t.same(traffic(upstream), seen, 'the provider saw nothing');
}

export async function checkSilent(t: Test, { gateway }: Stand): Promise<void> {
  const start = performance.now();
  const silent = await Promise.all(Array.from({ length: silentClients }, () => openRaw(gateway.port, { t })));
  const opened = performance.now() - start;
  const served = await rawRequest(gateway.port, chatCall());
  t.equal(served.responses[0]?.status, 200, 'a call beside them is served');
  t.comment(
    `${silentClients} connections in ${Math.round(opened)} ms, a call beside them ${Math.round(performance.now() - start - opened)} ms`,
  );
  await waitFor('all to be closed', () => silent.every((each) => each.exchange().closedByServer));
  const wrong = silent.flatMap((each) => {
    const statuses = each.exchange().responses.map(({ status }) => status);
    return statuses.length === 0 || (statuses.length === 1 && statuses[0] === 408) ? [] : [statuses];
  });
  t.same(wrong, [], 'without an answer, or with a 408');
  for (const each of silent) each.close();
}
