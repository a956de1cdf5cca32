// Long streams that are translated: memory stays flat, a client that does not read pauses the provider, and tool calls arrive whole.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { residentBytes } from '../support/process.ts';
import { openRaw } from '../support/raw-http.ts';
import { waitFor, waitForStandstill } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const gateway = await startGateway(suite, { upstream });
const question = {
  model: 'fake-small',
  max_tokens: 100_000,
  stream: true,
  messages: [{ role: 'user', content: 'Go on.' }],
};

const event = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const ending = `${event({}, 'stop')}data: [DONE]\n\n`;

function* words(count: number, text: string): Generator<string> {
  for (let index = 0; index < count; index += 1) yield event({ content: `${text}${index}` });
  yield ending;
}

interface Streamed {
  readonly type: string;
  readonly delta?: { readonly text?: string; readonly partial_json?: string };
}

async function answerOf(): Promise<readonly Streamed[]> {
  const response = await gateway.fetch('/v1/messages', { method: 'POST', body: question });
  const text = await response.text();
  return [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1] ?? '') as Streamed);
}

await test('a stream of 10,000 events is translated event by event, and leaves nothing behind', async (t) => {
  await upstream.behave({ kind: 'sse', chunks: [...words(10_000, 'w')] });
  // The first ones warm the heap up.
  for (let round = 0; round < 2; round += 1) await answerOf();
  const before = residentBytes(gateway.process);
  const events = await answerOf();
  const grown = residentBytes(gateway.process) - before;
  const text = events.map(({ delta }) => delta?.text ?? '').join('');
  t.equal(text, Array.from({ length: 10_000 }, (_, index) => `w${index}`).join(''));
  t.equal(events.at(-1)?.type, 'message_stop');
  t.ok(grown < 16 << 20, `the gateway has grown by ${grown} bytes`);
});

await test('a client that does not read pauses the provider', async (t) => {
  const piece = 'x'.repeat(64 * 1024);
  await upstream.behave({ kind: 'sse', chunks: words(1_000, piece) });
  const resting = residentBytes(gateway.process);
  const index = upstream.ledger.length;
  const connection = await openRaw(gateway.port, { t });
  connection.pause();
  const body = JSON.stringify(question);
  await connection.send(
    `POST /v1/messages HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.masterKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const entry = await upstream.waitFor((ledger) => ledger[index]);
  const stoodAt = await waitForStandstill('the provider', () => entry.bytesSent, 300);
  t.ok(stoodAt < 50 << 20, `the provider stands at ${stoodAt} bytes of 64 MiB`);
  t.ok(residentBytes(gateway.process) - resting < 32 << 20, 'the gateway holds next to nothing');
  t.equal(entry.finished, false);
  connection.close();
  await waitFor('the slot', async () => (await gateway.metric('gateway_requests_in_flight')) === 0);
});

await test('tool calls cut anywhere and mixed with one another arrive whole', async (t) => {
  const inputs = ['{"city":"Zürich","days":[1,2,3]}', '{"city":"\\"Bern\\"","note":"{}"}'];
  const pieces: string[] = [];
  for (const [index, name] of ['weather', 'forecast'].entries()) {
    pieces.push(event({ tool_calls: [{ index, id: `call_${index}`, function: { name, arguments: '' } }] }));
  }
  const longest = Math.max(...inputs.map((input) => input.length));
  for (let at = 0; at < longest; at += 1) {
    for (const [index, input] of inputs.entries()) {
      if (at < input.length) pieces.push(event({ tool_calls: [{ index, function: { arguments: input[at] } }] }));
    }
  }
  const bytes = Buffer.from(`${pieces.join('')}${event({}, 'tool_calls')}data: [DONE]\n\n`);
  const chunks = Array.from({ length: Math.ceil(bytes.length / 37) }, (_, at) => bytes.subarray(at * 37, at * 37 + 37));
  await upstream.behave({ kind: 'sse', chunks });
  const calls: string[] = [];
  for (const { type, delta } of await answerOf()) {
    if (type === 'content_block_start') calls.push('');
    if (delta?.partial_json !== undefined) calls.push(calls.pop() + delta.partial_json);
  }
  t.same(calls, inputs);
});
