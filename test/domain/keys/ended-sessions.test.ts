// Sessions that were ended: which ones are over, and that what is stored of them is bounded and goes away.
import { test } from 'tap';
import {
  type EndedSessions,
  endedByOwner,
  endedSessionsBody,
  endSession,
  everyKey,
  isEnded,
  mostKeys,
  mostOfOneKey,
  readEndedSessions,
} from '../../../domain/keys/ended-sessions.ts';
import { type Session, sessionMs } from '../../../domain/keys/session.ts';

const now = Date.UTC(2026, 0, 1);
const day = 86_400_000;
/** A session of the key with this number that began at `beganMs`. */
const sessionOf = (key: number, id: string, beganMs = now): Session => ({
  id,
  digest: String(key).padStart(16, '0').padEnd(64, 'f'),
  endsAtMs: beganMs + sessionMs,
});

/** What is stored after a session was ended, as it is read again. */
function after(stored: readonly EndedSessions[], session: Session, nowMs = now): EndedSessions[] {
  const { written, removed } = endSession(stored, session, nowMs);
  const ids = new Set([...written.map(({ id }) => id), ...removed]);
  const read = written.map((each) => readEndedSessions(each.id, JSON.parse(JSON.stringify(endedSessionsBody(each)))));
  return [...stored.filter(({ id }) => !ids.has(id)), ...read.filter((each) => each !== undefined)];
}
const isOver = (stored: readonly EndedSessions[], session: Session): boolean => isEnded(session, endedByOwner(stored));

await test('a session that was ended is over, and no other one of its key or of another', async (t) => {
  const stored = after([], sessionOf(1, 'a'));
  t.ok(isOver(stored, sessionOf(1, 'a')));
  t.notOk(isOver(stored, sessionOf(1, 'b')));
  t.notOk(isOver(stored, sessionOf(2, 'a')));
  t.notOk(isOver([], sessionOf(1, 'a')));
});

await test('of one key so many sessions are told apart; with one more, all that it began until then are over', async (t) => {
  let stored: EndedSessions[] = [];
  for (let count = 0; count < mostOfOneKey; count += 1) stored = after(stored, sessionOf(1, `s${count}`));
  t.notOk(isOver(stored, sessionOf(1, 'open')));
  stored = after(stored, sessionOf(1, 'one more'));
  t.same(stored[0]?.sessions.size, 0);
  t.ok(isOver(stored, sessionOf(1, 's0')));
  t.ok(isOver(stored, sessionOf(1, 'open')), 'one that was begun before');
  t.notOk(isOver(stored, sessionOf(1, 'next', now + 1)), 'one that is begun after');
  t.notOk(isOver(stored, sessionOf(2, 'open')), 'one of another key');
});

await test('of so many keys sessions are kept; with one more, all sessions that were begun until then are over', async (t) => {
  let stored: EndedSessions[] = [];
  for (let key = 0; key < mostKeys; key += 1) stored = after(stored, sessionOf(key, 'a'));
  t.equal(stored.length, mostKeys);
  stored = after(stored, sessionOf(mostKeys, 'a'));
  t.same(
    stored.map(({ id }) => id),
    [everyKey],
  );
  t.ok(isOver(stored, sessionOf(mostKeys, 'a')));
  t.ok(isOver(stored, sessionOf(7, 'open')));
  t.notOk(isOver(stored, sessionOf(7, 'next', now + 1)));
});

await test('what was ended is kept for a day longer than the session would have lasted, then it goes', async (t) => {
  const stored = after([], sessionOf(1, 'a'));
  const later = now + sessionMs + day;
  t.same(endSession(stored, sessionOf(2, 'b', later - 1), later - 1).removed, []);
  t.same(
    endSession(stored, sessionOf(2, 'b', later), later).removed,
    stored.map(({ id }) => id),
  );
  const [own] = after(stored, sessionOf(1, 'b', later), later);
  t.same([...(own?.sessions.keys() ?? [])], ['b']);
});

await test('a document that says something else is not read', async (t) => {
  for (const body of [
    null,
    7,
    { sessions: 7 },
    { sessions: { a: 'soon' } },
    { until: 'later' },
    { sessions: { a: 1 } },
  ])
    t.equal(readEndedSessions('x', body), undefined, JSON.stringify(body));
});
