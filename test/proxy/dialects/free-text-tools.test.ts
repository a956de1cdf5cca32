// Free text through a dialect of functions: the client gets the text that the model wrote, whole or streamed.
import { test } from 'tap';
import type { StreamEvent } from '../../../proxy/dialects/conversation/stream-event.ts';
import { responsesTranslation } from '../../../proxy/dialects/responses/translate.ts';
import {
  asFreeText,
  asFunctionInput,
  asFunctionTool,
  FreeTextRestorer,
} from '../../../proxy/dialects/tools/free-text-tools.ts';

await test('a text comes back from the input of the function, and from what a model wrote instead', async (t) => {
  for (const text of ['', 'a "b"\n\\u0000 ü 🌧', '{"input":"x"}']) t.equal(asFreeText(asFunctionInput(text)), text);
  t.equal(asFreeText('*** Begin Patch'), '*** Begin Patch');
  t.equal(asFreeText('{"patch":"x"}'), '{"patch":"x"}');
  t.equal(asFreeText('{"input":7}'), '{"input":7}');
});

await test('the function says what the tool is for, and its grammar', async (t) => {
  const format = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' };
  const { description } = asFunctionTool({ kind: 'free_text', name: 'p', description: 'Edits.', format });
  t.match(description, /^Edits\.\n\n.*\(lark\):\nstart: "a"$/);
  t.equal(asFunctionTool({ kind: 'free_text', name: 'p' }).description, undefined);
});

await test('a stream tells the text of such a call, and leaves other calls alone', async (t) => {
  const request = responsesTranslation.readRequest({ input: '', tools: [{ type: 'custom', name: 'p' }] });
  const events = (name: string, input: string, at: number): readonly StreamEvent[] => [
    { kind: 'opened', index: 0, part: { kind: 'tool_call', id: 'c', name, isFreeText: false } },
    { kind: 'delta', index: 0, delta: { kind: 'text', text: input.slice(0, at) } },
    { kind: 'delta', index: 0, delta: { kind: 'text', text: input.slice(at) } },
    { kind: 'closed', index: 0 },
  ];
  const input = '{"input":"a\\nb"}';
  for (let at = 0; at <= input.length; at += 1) {
    const restorer = new FreeTextRestorer(request);
    const told = events('p', input, at).flatMap((event) => restorer.push(event));
    t.match(told, [
      { kind: 'opened', part: { isFreeText: true } },
      { kind: 'delta', delta: { kind: 'text', text: 'a\nb' } },
      { kind: 'closed' },
    ]);
  }
  const other = events('q', input, 4);
  const restorer = new FreeTextRestorer(request);
  t.same(
    other.flatMap((event) => restorer.push(event)),
    other,
  );
});
