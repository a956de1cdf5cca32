// The id of an answer is read wherever a format has it, whole or streamed, however its bytes are cut.
import { test } from 'tap';
import { wholeAnswer } from '../../../../proxy/answer.ts';
import { AnswerNamesTap, type Named } from '../../../../proxy/records/spans/answer-names.ts';

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const [model, id] = ['m', 'the-id'];
const choices = [{ message: { tool_calls: [{ id: 'another-id' }] } }];

/** By format: whole answers, and the beginnings of streams. */
const answers: Readonly<Record<string, readonly [isStream: boolean, text: string]>> = {
  chat: [false, JSON.stringify({ id, model, choices })],
  'chat, the id last': [false, JSON.stringify({ choices, model, id })],
  messages: [false, JSON.stringify({ type: 'message', id, model, content: [] })],
  gemini: [false, JSON.stringify({ candidates: [], modelVersion: model, responseId: id })],
  'streamed chat': [true, `: wait\n\n${event({ id, model, choices: [] })}${event({ id: 'later', model })}`],
  'streamed messages': [true, event({ type: 'message_start', message: { id, model } })],
  'streamed responses': [true, event({ type: 'response.created', response: { id, model } })],
};

for (const [format, [isStream, text]] of Object.entries(answers)) {
  await test(`the id of an answer: ${format}`, (t) => {
    for (const needsOnlyId of [true, false]) {
      for (const cut of isStream ? [1, 5, 40, text.length] : [text.length]) {
        const named: Named = { needsOnlyId };
        const tap = new AnswerNamesTap(wholeAnswer(Buffer.from(text), { stream: isStream }), named, []);
        if (!isStream) tap.whole(Buffer.from(text));
        else {
          const sink = tap.open({ write: () => true, end: () => undefined });
          for (let at = 0; at < text.length; at += cut) sink.write(Buffer.from(text.slice(at, at + cut)));
        }
        t.equal(named.answer?.id, id);
        if (!needsOnlyId) t.equal(named.answer?.model, model);
      }
    }
    const secret: Named = {};
    new AnswerNamesTap(wholeAnswer(Buffer.from(text), { stream: isStream }), secret, [id]).whole(Buffer.from(text));
    t.equal(secret.answer?.id, undefined, 'one that holds a secret is none');
    t.end();
  });
}
