// What speech, images and transcripts used, beside or in place of tokens, and what the results of batches tell.
import { test } from 'tap';
import { jsonAnswer, type Sink } from '../../proxy/answer.ts';
import { BatchResultsTap } from '../../proxy/opaque/usage/batch-results-tap.ts';
import { mediaUsage, spokenCharacters } from '../../proxy/opaque/usage/media-usage.ts';
import type { ModelUsage } from '../../proxy/tokens/model-usage.ts';

const answer = jsonAnswer({});
const sound = { ...answer, contentType: 'audio/mpeg' };
const unreported = { inputTokens: 0, outputTokens: 0, totalTokens: 0, source: 'estimated' };
const nowhere: Sink = { write: () => true, end: () => undefined };

await test('images are counted in the answer, wherever it is cut', (t) => {
  const image = { b64_json: 'iVBORw0K', revised_prompt: 'a sign that says "url": "b64_json":"' };
  const images = [image, { url: 'https://images.example/1' }, { ...image, url: null }];
  const tokens = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
  for (const [usage, counts] of [
    [undefined, unreported],
    [tokens, { inputTokens: 3, outputTokens: 4, totalTokens: 7, source: 'reported' }],
  ] as const) {
    for (const indent of [undefined, 2]) {
      const body = Buffer.from(JSON.stringify({ created: 1, data: images, usage }, null, indent));
      for (let size = 1; size <= body.length; size += 1) {
        const used = mediaUsage('image_edits', undefined, answer);
        const sink = used.taps.reduceRight((next, tap) => tap.open(next), nowhere);
        for (let at = 0; at < body.length; at += size) sink.write(body.subarray(at, at + size));
        const found = used.usage();
        if (found?.images !== 3) t.fail(`${found?.images} images in pieces of ${size}`);
        if (size === body.length) t.strictSame(found, { ...counts, images: 3 });
      }
    }
  }
  const none = mediaUsage('image_generations', undefined, answer);
  for (const tap of none.taps) tap.whole(Buffer.from('{"data":[]}'));
  t.equal(none.usage(), undefined);
  t.end();
});

await test('speech is what was to be said, unless its provider reports', (t) => {
  const spoken = spokenCharacters(Buffer.from('{"model":"m","input":"na\\u00efve 😀"}'));
  t.equal(spoken, 7, 'code points');
  t.equal(spokenCharacters(Buffer.from('{"model":"m","input":7}')), undefined);
  t.strictSame(mediaUsage('speech', spoken, sound).usage(), { ...unreported, characters: 7 });
  const reported = mediaUsage('speech', spoken, { ...answer, contentType: 'text/event-stream', stream: true });
  const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
  for (const tap of reported.taps) tap.whole(Buffer.from(`data: ${JSON.stringify({ usage })}\n\n`));
  t.match(reported.usage(), { totalTokens: 3, source: 'reported', characters: undefined });
  t.equal(mediaUsage('moderations', undefined, answer).usage(), undefined);
  t.end();
});

await test('a transcript that is billed by its sound is so many seconds', (t) => {
  const used = mediaUsage('transcriptions', undefined, answer);
  for (const tap of used.taps) tap.whole(Buffer.from('{"text":"hi","usage":{"type":"duration","seconds":27}}'));
  t.strictSame(used.usage(), { ...unreported, source: 'reported', audioSeconds: 27 });
  t.end();
});

await test('the results of a batch tell what each model has used, wherever they are cut', (t) => {
  const line = (model: string, input_tokens: number): string => {
    const message = { model, usage: { input_tokens, output_tokens: 1 }, content: [{ text: 'ü "usage"' }] };
    return JSON.stringify({ custom_id: 'x', result: { type: 'succeeded', message } });
  };
  const errored = JSON.stringify({ custom_id: 'y', result: { type: 'errored', error: {} } });
  const body = Buffer.from(`${line('a', 2)}\n${errored}\n${line('b', 3)}\r\n\nno JSON\n${line('a', 4)}`);
  const wanted = [
    { model: 'a', usage: { inputTokens: 6, outputTokens: 2, totalTokens: 8, source: 'reported' }, requests: 2 },
    { model: 'b', usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4, source: 'reported' }, requests: 1 },
  ];
  for (let size = 1; size <= body.length; size += 1) {
    let told: readonly ModelUsage[] = [];
    const sink = new BatchResultsTap((used) => {
      told = used;
    }).open(nowhere);
    for (let at = 0; at < body.length; at += size) sink.write(body.subarray(at, at + size));
    sink.end(undefined);
    if (JSON.stringify(told) !== JSON.stringify(wanted)) t.fail(`in pieces of ${size}: ${JSON.stringify(told)}`);
  }
  let isTold = false;
  const broken = new BatchResultsTap(() => {
    isTold = true;
  }).open(nowhere);
  broken.write(body);
  broken.end({ code: 'upstream_disconnected', reason: '' });
  t.notOk(isTold, 'results that break off tell nothing');
  t.end();
});
