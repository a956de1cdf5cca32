// New, lost or replaced: every row of the table in custody.ts, and the time that proxies get to speak.
import { test } from 'tap';
import {
  type Custody,
  hasLost,
  isEmptied,
  judge,
  type Observation,
  type Standing,
  unanswered,
  unread,
} from '../../../store/state/custody.ts';

const start = Date.UTC(2026, 0, 1);

interface Row {
  readonly claim: string;
  readonly before?: Custody;
  readonly observed: Partial<Observation>;
  readonly standing: Standing;
}

const silent = { atMs: start, live: 0, remembering: 0 };
const remembering = { atMs: start, live: 2, remembering: 1 };
const lost: Custody = { standing: 'lost' };
const waited = (ms: number): Custody => ({ standing: 'undecided', namelessSinceMs: start - ms });

const rows: readonly Row[] = [
  { claim: 'an id, none remembered', observed: { storeId: 'a' }, standing: 'held' },
  { claim: 'the id remembered', observed: { storeId: 'a', remembered: 'a' }, standing: 'held' },
  {
    claim: 'the id remembered, in an older state',
    observed: { storeId: 'a', remembered: 'a', isBehind: true },
    standing: 'behind',
  },
  {
    claim: 'an id, of which proxies know a later state',
    observed: { storeId: 'a', isBehind: true },
    standing: 'behind',
  },
  { claim: 'another id', observed: { storeId: 'b', remembered: 'a' }, standing: 'replaced' },
  { claim: 'an id ends a loss', before: lost, observed: { storeId: 'a', witnesses: remembering }, standing: 'held' },
  { claim: 'no id, one remembered here', observed: { remembered: 'a', witnesses: silent }, standing: 'emptied' },
  {
    claim: 'no id, one remembered here, however long it lasts',
    before: waited(60_000),
    observed: { remembered: 'a', witnesses: silent },
    standing: 'emptied',
  },
  { claim: 'no id, one remembered by a proxy', observed: { witnesses: remembering }, standing: 'lost' },
  {
    claim: 'no id, one remembered by a proxy that is heard late',
    before: waited(60_000),
    observed: { witnesses: remembering },
    standing: 'lost',
  },
  { claim: 'the proxy that remembers is gone', before: lost, observed: { witnesses: silent }, standing: 'lost' },
  { claim: 'the heartbeats cannot be read any more', before: lost, observed: {}, standing: 'lost' },
  {
    claim: 'the proxies have forgotten: their time begins',
    before: lost,
    observed: { witnesses: { ...silent, live: 1 } },
    standing: 'undecided',
  },
  {
    claim: 'no proxy knows anything: a proxy, or no heartbeats',
    before: waited(60_000),
    observed: {},
    standing: 'undecided',
  },
  {
    claim: 'no proxy was heard, in too little time',
    before: waited(2_999),
    observed: { witnesses: silent },
    standing: 'undecided',
  },
  {
    claim: 'no proxy was heard for the life of a heartbeat',
    before: waited(3_000),
    observed: { witnesses: silent },
    standing: 'new',
  },
  {
    claim: 'some were heard, others had too little time',
    before: waited(999),
    observed: { witnesses: { ...silent, live: 2 } },
    standing: 'undecided',
  },
  {
    claim: 'all who live were heard',
    before: waited(1_000),
    observed: { witnesses: { ...silent, live: 2 } },
    standing: 'new',
  },
  {
    claim: 'the heartbeats are older than the time they should cover',
    before: waited(60_000),
    observed: { witnesses: { ...silent, atMs: start - 59_000 } },
    standing: 'undecided',
  },
];

for (const { claim, before = unread, observed, standing } of rows) {
  await test(`${claim}: ${standing}`, async (t) => {
    const seen: Observation = {
      atMs: start,
      storeId: undefined,
      remembered: undefined,
      witnesses: undefined,
      ...observed,
    };
    t.equal(judge(before, seen).standing, standing);
  });
}

await test('a store that was away gives the proxies their time again', async (t) => {
  const nameless = (atMs: number): Observation => {
    return { atMs, storeId: undefined, remembered: undefined, witnesses: { ...silent, atMs } };
  };
  let custody = judge(unread, nameless(start));
  t.equal(judge(custody, nameless(start + 3_000)).standing, 'new');
  custody = unanswered(custody);
  custody = judge(custody, nameless(start + 3_000));
  t.equal(custody.standing, 'undecided');
  t.equal(judge(custody, nameless(start + 6_000)).standing, 'new');
  t.equal(unanswered(lost).standing, 'lost', 'a loss outlasts it');
});

await test('documents are missing from an emptied store, whichever process remembers them', async (t) => {
  const every: Standing[] = ['unread', 'held', 'behind', 'replaced', 'emptied', 'lost', 'undecided', 'new'];
  t.same(every.filter(isEmptied), ['emptied', 'lost']);
  t.same(every.filter(hasLost), ['behind', 'emptied', 'lost'], 'or some of them');
});
