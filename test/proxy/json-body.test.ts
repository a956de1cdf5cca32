// Bodies of model calls, byte by byte: what is not one clear JSON call is refused before the provider hears of it, all else passes untouched.
import { readFileSync } from 'node:fs';
import { type Test, test } from 'tap';
import { cpuBetweenMs, markCpu } from '../bench/cpu-time.ts';
import { extent } from '../support/extent.ts';
import { openRaw, rawRequest } from '../support/raw-http.ts';
import {
  badModel,
  body,
  encodings,
  grammar,
  invalid,
  keys,
  manyMembers,
  models,
  passes,
  tooDeep,
  tooLarge,
  tooManyKeys,
  types,
  unchecked,
  unknownModel,
  untouched,
  withMembers,
  withText,
  wrongType,
} from './json-body-cases.ts';
import {
  type AcceptedCase,
  accepts,
  authorization,
  type Bytes,
  chatCall,
  chatLine,
  checkRefusal,
  checkStand,
  chunked,
  converse,
  head,
  host,
  join,
  jsonType,
  type Refusal,
  refuses,
  request,
  type Stand,
  stallDuring,
  startStand,
  traffic,
} from './raw-cases.ts';

/** Figures are printed, not judged: a machine that runs other tests may take its time. A loop that stands still this long hangs. */
const hangMs = 3000;
const mebibyte = 1024 * 1024;
/** Counting coverage would make the scanner many times slower than it is. */
const uncounted = { NODE_V8_COVERAGE: undefined };

await test('bodies of calls', async (t) => {
  const stand = await startStand(t, { body_limit: '1MiB', timeouts: { headers: '300ms', body: '300ms' } });

  await t.test('what is not JSON is refused', (inner) => refuses(inner, stand, grammar));
  await t.test('what is not UTF-8 is refused', (inner) => refuses(inner, stand, encodings));
  await t.test('keys with two meanings are refused', (inner) => refuses(inner, stand, keys));
  await t.test('models and streams of the wrong type are refused', (inner) => refuses(inner, stand, models));
  await t.test('other media types and encodings are refused', (inner) => refuses(inner, stand, types));
  await t.test('no media type lets a body go unchecked', (inner) => refuses(inner, stand, unchecked));
  await t.test('all else passes byte for byte', (inner) => accepts(inner, stand, untouched));
  await t.test('embeddings are read with the same care', (inner) => checkEmbeddings(inner, stand));
  await t.test('nesting beyond 128 is refused at once', (inner) => checkDepth(inner, stand));
  await t.test('the limit of the body is exact', (inner) => checkLimit(inner, stand));
  await t.test('a body declared too large is not read', (inner) => checkDeclared(inner, stand));
  await t.test('a chunked body is read up to the limit', (inner) => checkEndless(inner, stand));

  await checkStand(t, stand);
});

await test('large bodies', async (t) => {
  const stand = await startStand(t, { body_limit: '12MiB' }, uncounted);

  await t.test('an image of 9.9 MB passes without being copied much', (inner) => checkImage(inner, stand));
  await t.test('hostile shapes never stall the loop', (inner) => checkShapes(inner, stand));
  await t.test('keys that collide cost linear time', (inner) => checkCollisions(inner, stand));

  await checkStand(t, stand);
});

async function checkEmbeddings(t: Test, stand: Stand): Promise<void> {
  const embed = (sent: Bytes) => request('POST /v1/embeddings HTTP/1.1', [host, authorization, jsonType], sent);
  const good = '{"input":["a", "b" ],"model":"fake-embedding","x":12345678901234567890}';
  await accepts(t, stand, [{ name: 'a good one', send: embed(good), forwarded: good }]);
  await refuses(t, stand, [
    { ...invalid, name: 'no body', send: embed(''), keeps: true },
    { ...invalid, name: 'an array', send: embed('[]'), keeps: true },
    { ...badModel, name: 'no model', send: embed('{"input":"a"}'), keeps: true },
    {
      status: 400,
      code: 'duplicate_key',
      param: 'model',
      name: 'two models',
      send: embed('{"model":"fake-embedding","model":"fake-large"}'),
      keeps: true,
    },
    {
      ...wrongType,
      name: 'another type',
      send: request('POST /v1/embeddings HTTP/1.1', [host, authorization, 'Content-Type: text/plain'], good),
      keeps: true,
    },
  ]);
}

async function checkDepth(t: Test, stand: Stand): Promise<void> {
  const shapes = {
    arrays: '['.repeat(128) + ']'.repeat(128),
    objects: `${'{"x":'.repeat(127)}{}${'}'.repeat(127)}`,
    'never closed': '['.repeat(100_000),
  };
  for (const [name, shape] of Object.entries(shapes)) {
    const sent = withMembers(`"x":${shape}`);
    await refuses(t, stand, [body(name, tooDeep, sent)]);
    const tookMs = await leastCpuMs(stand, 500, () => rawRequest(stand.gateway.port, chatCall(sent)));
    t.ok(tookMs < 500, `${name}: ${tookMs.toFixed(1)} ms`);
  }
}

async function checkLimit(t: Test, stand: Stand): Promise<void> {
  const exact = withText('x'.repeat(mebibyte - withText('').length));
  t.equal(exact.length, mebibyte);
  const beyond = join(exact, ' ');
  const inChunks = (sent: Buffer) =>
    join(head(chatLine, host, authorization, jsonType, 'Transfer-Encoding: chunked'), chunked(sent));
  await accepts(t, stand, [
    passes('exactly 1 MiB', exact),
    { name: 'exactly 1 MiB in chunks', send: inChunks(exact), forwarded: exact },
  ]);
  await refuses(t, stand, [
    { ...tooLarge, name: 'one byte more', send: chatCall(beyond) },
    { ...tooLarge, name: 'one byte more in chunks', send: inChunks(beyond) },
    { ...tooLarge, name: 'ten times as much', send: chatCall(join(exact, ' '.repeat(9 * mebibyte))) },
    { ...tooLarge, name: 'many keys', send: chatCall(withMembers(`"x":{${manyMembers(extent(500_000, 150_000))}}`)) },
  ]);
}

async function checkDeclared(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const seen = traffic(upstream);
  for (const lines of [[], ['Expect: 100-continue']]) {
    const start = performance.now();
    const connection = await openRaw(gateway.port, { t });
    const sent = head(chatLine, host, authorization, jsonType, 'Content-Length: 1000000000', ...lines);
    const response = await converse(connection, sent, 1);
    t.comment(`answered after ${(performance.now() - start).toFixed(1)} ms`);
    checkRefusal(t, response, tooLarge);
    t.equal(connection.exchange().responses.length, 1, 'no 100 Continue');
    await connection.waitFor((exchange) => exchange.closedByServer);
    t.equal(connection.exchange().responses.length, 1, 'closed, one answer');
  }
  t.same(traffic(upstream), seen, 'the provider saw nothing');
}

async function checkEndless(t: Test, { gateway, upstream }: Stand): Promise<void> {
  const seen = traffic(upstream);
  const before = residentKb(gateway.process.pid);
  const block = join('10000\r\n', ' '.repeat(0x10000), '\r\n');
  const connection = await openRaw(gateway.port, { t });
  const start = performance.now();
  const sent = connection.send(
    head(chatLine, host, authorization, jsonType, 'Transfer-Encoding: chunked'),
    ...Array.from({ length: Math.ceil(8e9 / block.length) }, () => block),
  );
  await connection.waitFor((exchange) => exchange.responses[0]?.complete);
  const answeredAfter = connection.socket.bytesWritten;
  checkRefusal(t, connection.exchange().responses[0], tooLarge);
  await connection.waitFor((exchange) => exchange.closedByServer || connection.socket.destroyed);
  t.comment(
    `answered after ${megabytes(answeredAfter)}, closed after ${megabytes(connection.socket.bytesWritten)}`,
    `and ${Math.round(performance.now() - start)} ms`,
  );
  t.ok(answeredAfter < 250e6, 'answered long before 1 GB was sent');
  t.ok(
    connection.exchange().closedByServer && performance.now() - start < 8_000,
    'and closed, however much would follow',
  );
  connection.close();
  await sent;
  const grown = (residentKb(gateway.process.pid) - before) * 1024;
  t.comment(`memory grew by ${megabytes(grown)}`);
  t.ok(grown < 250e6, 'what comes after the limit is not kept');
  t.same(traffic(upstream), seen, 'the provider saw nothing');
}

async function checkImage(t: Test, stand: Stand): Promise<void> {
  const { gateway, upstream } = stand;
  const image = 'iVBORw0KGgo'.repeat(900_000);
  const sent = withMembers(`"image":"data:image/png;base64,${image}"`);
  for (let count = 0; count < 20; count += 1) await rawRequest(gateway.port, chatCall());
  await upstream.behave({ kind: 'json', body: '{"object":"chat.completion"}' });
  const before = residentKb(gateway.process.pid);
  const stall = await stallDuring(stand, () => accepts(t, stand, [passes('the image', sent)]));
  const peak = (residentKb(gateway.process.pid, 'VmHWM') - before) * 1024;
  t.comment(`${megabytes(sent.length)}: memory grew by ${megabytes(peak)} at most, stall ${stall} ms`);
  t.ok(peak <= 4 * sent.length, 'at most four times its size');
  t.ok(stall < hangMs);
  await upstream.behave({ kind: 'openai' });
}

async function checkShapes(t: Test, stand: Stand): Promise<void> {
  const million = extent(1_000_000, 150_000);
  const list = (element: string) => `[${`${element},`.repeat(million - 1)}${element}]`;
  /** More than a body may have. */
  const most = extent(500_000, 260_000);
  const members = manyMembers(most);
  const refused: [name: string, refusal: Refusal, sent: Buffer][] = [
    ['lists in each other', tooDeep, withMembers(`"x":${'['.repeat(5 * million)}${']'.repeat(5 * million - 100)}`)],
    ['many keys in one object', tooManyKeys, withMembers(`"x":{${members}}`)],
    ['many keys at the top', tooManyKeys, withMembers(members)],
    ['many objects of one key', tooManyKeys, withMembers(`"x":[${'{"k":1},'.repeat(most)}1]`)],
    ['numbers and a mistake', invalid, withMembers(`"x":[${'1,'.repeat(5 * million)}]`)],
    ['escapes and a mistake', invalid, withText(`${'\\u0041'.repeat(1.6 * million)}\\x`)],
    ['a string that does not end', invalid, join('{"model":"', 'x'.repeat(10 * million))],
    ['blanks', invalid, Buffer.alloc(10 * million, ' ')],
  ];
  const slow: string[] = [];
  const note = (name: string, { length }: Bytes, stallMs: number) => {
    t.comment(`${name} (${megabytes(length)}): stall ${stallMs} ms`);
    if (stallMs >= hangMs) slow.push(`${name}: ${stallMs} ms`);
  };
  for (const [name, refusal, sent] of refused) {
    note(name, sent, await stallDuring(stand, () => refuses(t, stand, [body(name, refusal, sent)])));
  }

  await stand.upstream.behave({ kind: 'json', body: '{"object":"chat.completion"}' });
  const embed = `{"model":"fake-embedding","input":${list('"a"')}}`;
  const served: AcceptedCase[] = [
    passes('many messages', `{"model":"fake-small","messages":${list('{}')}}`),
    passes('many stops', withMembers(`"stop":${list('"a"')}`)),
    passes('numbers', withMembers(`"x":[${'1,'.repeat(5 * million - 1000)}1]`)),
    {
      name: 'many inputs',
      send: request('POST /v1/embeddings HTTP/1.1', [host, authorization, jsonType], embed),
      forwarded: embed,
    },
  ];
  for (const each of served) note(each.name, each.send, await stallDuring(stand, () => accepts(t, stand, [each])));
  t.same(slow, [], 'no long stall');
  await stand.upstream.behave({ kind: 'openai' });
}

async function checkCollisions(t: Test, stand: Stand): Promise<void> {
  /** Names that are array indices and fall on few places of a hash table. */
  const index = (count: number) => (each: number) => `${(each % 32) * 2 ** 19 + Math.floor((each * 32) / count)}`;
  const sent = (count: number) =>
    chatCall(join('{"model":"nobody-has-it","x":{', manyMembers(count, index(count)), '}}'));
  const [few, many] = [sent(60_000), sent(240_000)];
  checkRefusal(t, (await rawRequest(stand.gateway.port, many)).responses[0], unknownModel);
  const fewMs = await leastCpuMs(stand, 0, () => rawRequest(stand.gateway.port, few));
  const mostMs = Math.min(1000, 12 * fewMs + 50);
  const manyMs = await leastCpuMs(stand, mostMs, () => rawRequest(stand.gateway.port, many));
  t.ok(manyMs < mostMs, `${fewMs.toFixed(1)} ms, for four times the keys ${manyMs.toFixed(1)} ms`);
}

/** The least processor time in milliseconds that the gateway takes for one of three runs. A run below `enoughMs` is the last one. */
async function leastCpuMs({ gateway }: Stand, enoughMs: number, work: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3 && best >= enoughMs; run += 1) {
    const before = markCpu(gateway.process.pid);
    await work();
    best = Math.min(best, cpuBetweenMs(before, markCpu(gateway.process.pid)));
  }
  return best;
}

/** Memory of a process in KiB: what it holds now, or the most it ever held. */
function residentKb(pid: number, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1]);
}

function megabytes(count: number): string {
  return `${(count / 1e6).toFixed(1)} MB`;
}
