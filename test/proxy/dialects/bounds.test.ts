// Answers of odd shapes are read in a time that grows with their length alone.
import { test } from 'tap';
import { geminiTranslation } from '../../../proxy/dialects/gemini/translate.ts';
import { responsesTranslation } from '../../../proxy/dialects/responses/translate.ts';
import { ServerEventSplitter } from '../../../proxy/dialects/server-events.ts';
import { InvalidAnswer } from '../../../proxy/dialects/translation.ts';

/** Far more than it takes on a busy machine, and far less than it took when every step began anew. Milliseconds. */
const mostMs = 1_500;

function msFor(work: () => void): number {
  const startedAtMs = performance.now();
  work();
  return performance.now() - startedAtMs;
}

await test('items that all begin before the first one ends are told one after the other', async (t) => {
  const count = 4_900;
  const about = (type: string, index: number): { event: undefined; data: string } => {
    const item = { type: 'function_call', call_id: `call_${index}`, name: 'f', arguments: '{}' };
    return { event: undefined, data: JSON.stringify({ type, output_index: index, item }) };
  };
  const indexes = Array.from({ length: count }, (_, index) => index);
  for (const ends of [indexes, indexes.toReversed()]) {
    const reader = responsesTranslation.eventReader();
    const told: string[] = [];
    const ms = msFor(() => {
      const begun = indexes.map((index) => about('response.output_item.added', index));
      const ended = ends.map((index) => about('response.output_item.done', index));
      for (const event of [...begun, ...ended].flatMap((raw) => reader.read(raw))) {
        if (event.kind === 'opened' && event.part.kind === 'tool_call') told.push(event.part.id);
      }
    });
    t.same(
      told,
      indexes.map((index) => `call_${index}`),
    );
    t.ok(ms < mostMs, `${ms} ms`);
  }
});

await test('what waits for an item to end has a bound', async (t) => {
  const reader = responsesTranslation.eventReader();
  const delta = (index: number, text: string): { event: undefined; data: string } => {
    const said = { type: 'response.output_text.delta', output_index: index, content_index: 0, delta: text };
    return { event: undefined, data: JSON.stringify(said) };
  };
  reader.read(delta(0, 'open'));
  const long = delta(1, 'x'.repeat(1 << 20));
  t.throws(() => {
    for (let round = 0; round < 20; round += 1) reader.read(long);
  }, InvalidAnswer);
});

await test('a number that a server gives its summaries is no length', async (t) => {
  const reader = responsesTranslation.eventReader();
  const said = (summary_index: number, delta: string): { event: undefined; data: string } => {
    const type = 'response.reasoning_summary_text.delta';
    return { event: undefined, data: JSON.stringify({ type, output_index: 0, summary_index, delta }) };
  };
  const events = [said(1e300, 'a'), said(-1, 'b'), said(1e300, 'c')].flatMap((raw) => reader.read(raw));
  const deltas = events.flatMap((event) => (event.kind === 'delta' ? [event.delta] : []));
  t.match(deltas, [
    { text: 'a', index: 0 },
    { text: 'b', index: 1 },
    { text: 'c', index: 0 },
  ]);
});

await test('thousands of places in a long text of wide letters are found', async (t) => {
  const text = 'Grüße 🏔️ '.repeat(20_000);
  const bytes = Buffer.from('Grüße 🏔️ ').length;
  const groundingSupports = Array.from({ length: 20_000 }, (_, index) => {
    const segment = { startIndex: index * bytes, endIndex: index * bytes + 7, text: 'Grüße' };
    return { segment, groundingChunkIndices: [0] };
  });
  const groundingMetadata = { groundingChunks: [{ web: { uri: 'https://a.example' } }], groundingSupports };
  const candidates = [{ content: { parts: [{ text }] }, groundingMetadata, finishReason: 'STOP' }];
  let citations: readonly object[] = [];
  const ms = msFor(() => {
    const [part] = geminiTranslation.readAnswer({ candidates }).parts;
    citations = (part?.kind === 'text' && part.citations) || [];
  });
  t.match(citations.at(-1), { start: 19_999 * 'Grüße 🏔️ '.length, end: 19_999 * 'Grüße 🏔️ '.length + 5 });
  t.equal(citations.length, 20_000);
  t.ok(ms < mostMs, `${ms} ms`);
});

await test('an event of millions of lines is none', async (t) => {
  for (const line of ['data:\n', 'data:\r', 'x\n']) {
    const splitter = new ServerEventSplitter();
    const event = Buffer.from(`${line.repeat(Math.floor((8 << 20) / line.length))}\n\n`);
    const ms = msFor(() => {
      if (line.startsWith('data')) t.throws(() => splitter.push(event), InvalidAnswer);
      else t.same(splitter.push(event), []);
    });
    t.ok(ms < mostMs, `${ms} ms`);
  }
});
