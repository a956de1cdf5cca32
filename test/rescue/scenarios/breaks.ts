// An answer breaks off, or an error comes within it.
import { partOfAnswer, type Scenario } from '../scenario.ts';

const published = { isPublished: true } as const;
const hasPart = { SSE: partOfAnswer } as const;
const rescued = { alias: { rescue: 'continue' } } as const;

export const breaks: readonly Scenario[] = [
  {
    name: 'cut before the answer begins',
    plans: [{ until: 'nothing', ending: 'closes' }, 'answers'],
    sees: 'answer',
  },
  { name: 'cut behind the headers', plans: [{ until: 'head', ending: 'closes' }, 'answers'], sees: 'answer' },
  {
    name: 'cut before the first word',
    form: 'SSE',
    plans: [{ until: 'role', ending: 'closes' }, 'answers'],
    sees: 'answer',
  },
  {
    name: 'an answer is cut in the middle',
    form: 'JSON',
    plans: [{ until: 'middle', ending: 'closes' }, 'answers'],
    sees: 'answer',
  },
  {
    name: 'a stream is cut in the middle',
    ...published,
    form: 'SSE',
    ...rescued,
    plans: [{ until: 'middle', ending: 'closes' }, 'goes on'],
    sees: 'answer',
  },
  {
    name: 'a stream is cut in the middle, and the alias has no `rescue`',
    form: 'SSE',
    plans: [{ until: 'middle', ending: 'closes' }, 'answers'],
    sees: 'answer',
    no: hasPart,
  },
  {
    name: 'reset in the middle',
    ...rescued,
    plans: [{ until: 'middle', ending: 'resets' }, 'goes on'],
    sees: 'answer',
  },
  {
    name: 'cut after the last word, before the end',
    form: 'SSE',
    ...rescued,
    plans: [{ until: 'words', ending: 'closes' }, 'goes on'],
    sees: 'answer',
  },
  {
    name: 'an orderly end after the last word, without finish reason',
    form: 'SSE',
    ...rescued,
    plans: [{ until: 'words', ending: 'ends' }, 'goes on'],
    sees: 'answer',
  },
  {
    name: 'no last event (`[DONE]`, `message_stop`)',
    form: 'SSE',
    plans: [{ until: 'finish', ending: 'ends' }, 'answers'],
    sees: 'answer',
    calls: [1, 0],
    no: { SSE: { grade: 'safe', why: 'of Responses the last event holds the answer and its usage' } },
  },
  {
    name: 'no finish reason, but `[DONE]`',
    form: 'SSE',
    wire: 'chat',
    plans: [{ without: 'finish reason' }, 'answers'],
    sees: 'answer',
    calls: [1, 0],
    no: {
      SSE: { grade: 'partial', why: 'the provider says that the answer is over, and not why; clients see the same' },
    },
  },
  {
    name: 'an error event first',
    ...published,
    form: 'SSE',
    plans: [{ until: 'head', says: 'error' }, 'answers'],
    sees: 'answer',
  },
  {
    name: 'an error event first, beside `choices`',
    form: 'SSE',
    wire: 'chat',
    plans: [{ until: 'head', says: 'error beside choices' }, 'answers'],
    sees: 'answer',
  },
  {
    name: 'an error event after the role',
    form: 'SSE',
    plans: [{ until: 'role', says: 'error' }, 'answers'],
    sees: 'answer',
  },
  {
    name: 'an error event after the role, beside `choices`',
    form: 'SSE',
    wire: 'chat',
    plans: [{ until: 'role', says: 'error beside choices' }, 'answers'],
    sees: 'answer',
  },
  {
    name: 'an error event in the middle',
    form: 'SSE',
    ...rescued,
    plans: [{ until: 'middle', says: 'error' }, 'goes on'],
    sees: 'answer',
  },
  {
    name: 'an error event in the middle, beside `choices`',
    form: 'SSE',
    wire: 'chat',
    ...rescued,
    plans: [{ until: 'middle', says: 'error beside choices' }, 'goes on'],
    sees: 'answer',
  },
];
