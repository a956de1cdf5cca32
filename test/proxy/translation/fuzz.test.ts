// Any conversation, between a client of each format and a provider of each: what a provider does not hear is named, and what it says is what the
// client gets and sends back, whole and as a stream, whatever else is told at the same time. What is broken is refused, and nothing else happens.
import * as fc from 'fast-check';
import { test } from 'tap';
import { extent, runs } from '../../support/extent.ts';
import { type Answering, answerComplaints, answered } from './talks/answering.ts';
import { complaintsOf, pairs } from './talks/asking.ts';
import { brokenAnswerComplaints, brokenRequestComplaints, changed, changes } from './talks/broken.ts';
import { requestOf } from './talks/client-requests.ts';
import { pace, saidAnswer } from './talks/said-answer.ts';
import { talk } from './talks/talk.ts';

const answering: fc.Arbitrary<Answering> = fc.record({ pair: fc.constantFrom(...pairs), talk, said: saidAnswer, pace });

function refute(complaints: readonly string[]): void {
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
}

await test('what a provider does not hear is named, what it says is heard, and no answer knows of another', async () => {
  // Two conversations a run.
  const numRuns = extent(50_000, 200);
  fc.assert(
    fc.property(answering, answering, (one, other) => {
      const asked = [one, other].flatMap((each) => complaintsOf(each.pair, each.talk));
      refute([...asked, ...answerComplaints(one, other)]);
    }),
    { ...runs(numRuns), numRuns },
  );
});

await test('a broken request is refused with its place, and a broken answer told or given up', async () => {
  const numRuns = extent(20_000, 300);
  fc.assert(
    fc.property(answering, changes, (each, all) => {
      const { body } = requestOf(each.pair.client, each.talk);
      const asked = brokenRequestComplaints(each.pair, changed(body, all));
      refute([...asked, ...brokenAnswerComplaints(answered(each), all)]);
    }),
    { ...runs(numRuns), numRuns },
  );
});
