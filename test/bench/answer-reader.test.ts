// The end of an answer and the events in it are found however the bytes are cut.
import tap from 'tap';
import { AnswerReader, type Progress } from './answer-reader.ts';
import { INSTANT_EVENTS, jsonAnswer, streamWrites } from './workload.ts';

const stream = Buffer.concat(streamWrites(INSTANT_EVENTS, false));

void tap.test('an answer with a length is complete with its last byte', async (t) => {
  const reader = new AnswerReader();
  const answer = jsonAnswer();
  t.equal(read(reader, [answer]), 'complete');
  t.match(reader, { status: 200, events: 0, bytes: answer.length });
  for (let cut = 1; cut < answer.length; cut += 1) {
    if (read(reader, [answer.subarray(0, cut), answer.subarray(cut)]) !== 'complete') t.fail(`cut at ${cut}`);
    if (reader.take(Buffer.from('x')) !== 'broken') t.fail('a byte too many');
  }
});

void tap.test('all events of a stream are counted once, wherever it is cut', async (t) => {
  const reader = new AnswerReader();
  t.equal(read(reader, [stream]), 'complete');
  t.equal(reader.events, INSTANT_EVENTS);
  let wrong = 0;
  for (let cut = 1; cut < stream.length; cut += 1) {
    const pieces = [stream.subarray(0, cut), stream.subarray(cut, cut + 3), stream.subarray(cut + 3)];
    const progress = read(
      reader,
      pieces.filter(({ length }) => length > 0),
    );
    if (progress !== 'complete' || reader.events !== INSTANT_EVENTS || reader.bytes !== stream.length) wrong += 1;
  }
  t.equal(wrong, 0);
  const bytes = Array.from(stream, (byte) => Buffer.from([byte]));
  t.equal(read(reader, bytes), 'complete');
  t.equal(reader.events, INSTANT_EVENTS);
});

void tap.test('the events of a stream with a length are counted, too', async (t) => {
  const reader = new AnswerReader();
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nContent-Length: 29\r\n\r\n';
  const whole = Buffer.from(`${head}data: {"a":1}\n\ndata: [DONE]\n\n`);
  for (let cut = 1; cut < whole.length; cut += 1) {
    const progress = read(reader, [whole.subarray(0, cut), whole.subarray(cut)]);
    if (progress !== 'complete' || reader.events !== 2) t.fail(`cut at ${cut}: ${progress}, ${reader.events} events`);
  }
  t.pass();
});

void tap.test('a stream without its final chunk is not complete', async (t) => {
  t.equal(read(new AnswerReader(), [stream.subarray(0, -1)]), 'more');
});

void tap.test('heads are read in any letter case, and interim answers are passed over', async (t) => {
  const reader = new AnswerReader();
  const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
  const answer = 'HTTP/1.1 503 Service Unavailable\r\nX: y\r\nContent-Length:2\r\n\r\n{}';
  t.equal(read(reader, [Buffer.from(interim + answer)]), 'complete');
  t.equal(reader.status, 503);
  t.equal(read(reader, [Buffer.from(interim), Buffer.from(answer)]), 'complete');
});

void tap.test('what is not HTTP/1.1, or has no end, is broken', async (t) => {
  for (const text of ['SSH-2.0-x\r\n\r\n', 'HTTP/1.1 2xx\r\n\r\n', 'HTTP/1.1 200 OK\r\nx: y\r\n\r\nbody']) {
    t.equal(read(new AnswerReader(), [Buffer.from(text)]), 'broken', text);
  }
});

function read(reader: AnswerReader, pieces: readonly Buffer[]): Progress {
  reader.begin();
  return pieces.map((piece) => reader.take(piece)).at(-1) ?? 'more';
}
