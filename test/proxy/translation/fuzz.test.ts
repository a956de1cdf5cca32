// Any conversation, between a client of each format and a provider of each: what a provider does not hear is named, and what it says is what the
// client gets and sends back, whole and as a stream, whatever else is told at the same time.
import * as fc from 'fast-check';
import { test } from 'tap';
import { extent, runs } from '../../support/extent.ts';
import { type Answering, answerComplaints } from './talks/answering.ts';
import { complaintsOf, pairs } from './talks/asking.ts';
import { pace, saidAnswer } from './talks/said-answer.ts';
import { talk } from './talks/talk.ts';

/** Two conversations a run. */
const numRuns = extent(50_000, 400);

const answering: fc.Arbitrary<Answering> = fc.record({ pair: fc.constantFrom(...pairs), talk, said: saidAnswer, pace });

await test('what a provider does not hear is named, what it says is heard, and no answer knows of another', async () => {
  fc.assert(
    fc.property(answering, answering, (one, other) => {
      const asked = [one, other].flatMap((each) => complaintsOf(each.pair, each.talk));
      const wrong = [...asked, ...answerComplaints(one, other)];
      if (wrong.length > 0) throw new Error(wrong.join('\n'));
    }),
    { ...runs(numRuns), numRuns },
  );
});
