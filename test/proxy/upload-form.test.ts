// The form of an upload, cut anywhere: the same bytes pass, and hold the provider's names of models.
import { test } from 'tap';
import { boundaryOf } from '../../proxy/call/form-reader.ts';
import { type Flow, run } from '../../proxy/guardrails/flow.ts';
import { BatchLines, type LineReader, mostLines } from '../../proxy/opaque/batch-lines.ts';
import { UploadForm } from '../../proxy/opaque/forms/upload-form.ts';

const part = (name: string, value: string, more = ''): string =>
  `--b-1\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const line = (model: string): string => `{"custom_id":"1","body":{"n":1.50,"model":"${model}"}}`;
const end = '--b-1--\r\n';
const reader: LineReader = { nameModel: () => Buffer.from('"real"'), guard: undefined };

/** Without a guardrail nothing waits. */
function atOnce(work: Flow<Buffer>): Buffer {
  const done = run(work);
  if (done instanceof Promise) throw new Error('it waits');
  return done;
}

interface Passed {
  readonly text: string;
  readonly provider: string | undefined;
  readonly isBatchInput: boolean;
}

/** Rejects with the refusal. */
async function passed(pieces: readonly Buffer[]): Promise<Passed> {
  let provider: string | undefined;
  let refused: Error | undefined;
  const form = new UploadForm({
    boundary: 'b-1',
    begun(start) {
      ({ provider } = start);
      return reader;
    },
    passesUnread: () => undefined,
    failed(error) {
      refused = error;
    },
  });
  for (const piece of pieces) form.write(piece);
  form.end();
  let text = '';
  try {
    for await (const chunk of form) text += (chunk as Buffer).toString('latin1');
  } catch (error) {
    throw refused ?? error;
  }
  return { text, provider, isBatchInput: form.isBatchInput };
}

await test('a form passes the same however it is cut', async (t) => {
  const file = `${line('a')}\r\n\r\n--b-\n${line('b')}`.replace('--b-\n', '\n');
  const wanted = file.replace('"a"', '"real"').replace('"b"', '"real"');
  const named = '; filename="in.jsonl"';
  const purpose = part('purpose', 'batch');
  for (const isFirst of [true, false]) {
    const order = (content: string): string =>
      isFirst ? purpose + part('file', content, named) : part('file', content, named) + purpose;
    const sent = Buffer.from(part('provider', 'p') + order(file) + end);
    for (let at = 0; at <= sent.length; at += 1) {
      const { text, provider, isBatchInput } = await passed([sent.subarray(0, at), sent.subarray(at)]);
      if (text !== order(wanted) + end || provider !== 'p' || !isBatchInput) t.fail(`cut at ${at}`, { text });
    }
    const bytes = [...sent].map((byte) => Buffer.of(byte));
    t.equal((await passed(bytes)).text, order(wanted) + end);
  }
});

await test('a file of another purpose passes as it is', async (t) => {
  const odd = '\r\n--b\r\n\0\r\n--b-0\r\n{"body":1}';
  for (const sent of [
    part('purpose', 'vision') + part('file', odd, '; filename="x"') + end,
    part('file', odd, '; filename="x"') + part('purpose', 'vision') + end,
    part('purpose', 'fine-tune') + part('file', line('a'), '; filename="x"') + end,
  ]) {
    t.same(await passed([Buffer.from(sent)]), { text: sent, provider: undefined, isBatchInput: false });
  }
});

await test('what two readers could understand differently is refused', async (t) => {
  const file = part('file', 'x', '; filename="x"');
  for (const wrong of [
    part('purpose', 'x') + part('purpose', 'batch') + file,
    file + part('purpose', 'batch'),
    part('a', 'x'.repeat(40_000)) + file,
    part('purpose', 'x'.repeat(300)) + file,
    part('file"; name="purpose', 'x'),
    part('other', 'x', '; filename="y"') + file,
    part('a', 'x').repeat(101) + file,
    file.replace('Content-', `X: ${'y'.repeat(9_000)}\r\nContent-`),
    file.replace('\r\n\r\n', '\r\nContent-Transfer-Encoding: base64\r\n\r\n'),
    file.replace('--b-1', '--b-1 '),
  ]) {
    await t.rejects(passed([Buffer.from(wrong + end)]), { code: 'invalid_upload' }, wrong.slice(0, 80));
  }
  await t.rejects(passed([Buffer.from(file)]), { code: 'invalid_upload' }, 'it breaks off');
  for (const type of [undefined, 'text/plain', 'multipart/form-data', 'multipart/form-data; boundary=a; boundary=b']) {
    t.throws(() => boundaryOf(type), { code: 'invalid_upload' });
  }
  t.equal(boundaryOf('multipart/form-data; boundary="a b"'), 'a b');
});

await test('a line has one body, and that one model; numbers stay', (t) => {
  const read = (text: string): string => {
    const lines = new BatchLines(reader);
    return Buffer.concat([atOnce(lines.push(Buffer.from(text))), atOnce(lines.finish())]).toString();
  };
  t.equal(read(`${line('a')}\n\n  \n`), `${line('real')}\n\n  \n`);
  for (const wrong of [
    '[]',
    '{}',
    '{"body":{}}',
    '{"body":{"model":"a"},"Body":{"model":"b"}}',
    '{"body":{"model":"a"},"b\\u006fdy":{"model":"b"}}',
    '{"body":{"model":"a","MODEL":"b"}}',
    `{"body":{"model":"a"},"x":"${'y'.repeat(1 << 20)}"}`,
  ]) {
    t.throws(
      () => read(`${line('a')}\n${wrong}`),
      { code: 'invalid_batch_input', message: /line 2 / },
      wrong.slice(0, 60),
    );
  }
  t.end();
});

await test('a file has at most so many lines, empty ones among them, and others have their turn meanwhile', async (t) => {
  let turns = 0;
  const turn = setInterval(() => {
    turns += 1;
  }, 0);
  const lines = new BatchLines(reader);
  t.equal((await run(lines.push(Buffer.alloc(mostLines, 0x0a)))).length, mostLines);
  const further = async (): Promise<Buffer> => run(lines.push(Buffer.from('\n')));
  await t.rejects(further(), {
    code: 'invalid_batch_input',
    message: /line 200001 of the file: a file has at most 200000 lines/,
  });
  clearInterval(turn);
  t.ok(turns > 3, `${turns} turns`);
});
