// GET /admin/live: entries as they come in, from a cursor on, within the scope of the operator, and what becomes of slow clients and outages.
import { renameSync, writeFileSync } from 'node:fs';
import { t as suite, type Test, test } from 'tap';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { endedByOwner, endSession } from '../../domain/keys/ended-sessions.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { openSession, sealSession } from '../../domain/keys/session.ts';
import { recordFilePath } from '../../store/records/sqlite/record-file.ts';
import { componentProblems } from '../support/api-description.ts';
import { sampleKey } from '../support/managed-state.ts';
import { watchTime } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';
import { openStream, type StreamEvent } from './event-stream.ts';
import { asTeam, type RecordsPlane, record, startRecordsPlane } from './records-plane.ts';

const asMaster = { authorization: 'Bearer master' };
const shared = await startRecordsPlane(suite);
const listenAt =
  (plane: RecordsPlane) =>
  (t: Test, headers: Record<string, string> = {}, query: string = '') =>
    openStream(t, `${plane.address}/admin/live${query}`, { ...asMaster, ...headers });
const listen = listenAt(shared);
const idsOf = (events: readonly StreamEvent[]) =>
  events.filter(({ event }) => event === 'entry').map(({ data }) => data['id']);

await test('entries come as they are stored, and each operator gets only its own part', async (t) => {
  const all = await listen(t);
  const team = await listen(t, asTeam);
  t.match(all.headers, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' });
  await Promise.all([all.got('ready'), team.got('ready')]);
  const records = ['/team/app', '/team-alpha', '/', '/team'].map((user_path) => record({ user_path }));
  await shared.add(records);
  const ids = records.map(({ id }) => id);
  await Promise.all([all.got('entry', 4), team.got('entry', 2)]);
  t.same(idsOf(all.events), ids);
  t.same(idsOf(team.events), [ids[0], ids[3]]);
  const [first] = await all.got('entry');
  t.same(componentProblems('AuditEntry', first?.data), []);
});

await test('the stream of a browser ends with its session', async (t) => {
  const cookie = sealSession({ digest: digestOf('master'), endsAtMs: shared.at.nowMs + 1_000 }, 'master');
  const headers = { cookie: `gateway_session=${cookie}` };
  const stream = await openStream(t, `${shared.address}/admin/live`, headers);
  await stream.got('ready');
  shared.at.nowMs += 1_000;
  await waitFor('the stream to end', () => stream.isOver());
  t.equal((await fetch(`${shared.address}/admin/live`, { headers })).status, 401);
});

await test('a client that connects again has everything once, while more comes in', async (t) => {
  const before = await listen(t);
  await before.got('ready');
  const seen = record();
  await shared.add([seen]);
  await before.got('entry');
  before.close();
  const records = Array.from({ length: 60 }, () => record());
  await shared.add(records.slice(0, 20));
  // Another listener keeps the readings going.
  const other = await listen(t);
  await other.got('ready');
  const writing = (async () => {
    for (let at = 20; at < 60; at += 2) await shared.add(records.slice(at, at + 2));
  })();
  const again = await listen(t, { 'last-event-id': before.lastId() ?? '' }, '?cursor=0');
  await writing;
  await again.got('entry', 60);
  const last = record();
  await shared.add([last]);
  await again.got('entry', 61);
  t.same(
    idsOf(again.events),
    [...records, last].map(({ id }) => id),
  );
  t.same(idsOf(other.events), idsOf(again.events).slice(20));
  const byCursor = await listen(t, {}, `?cursor=${before.lastId()}`);
  await byCursor.got('entry', 61);
  t.notMatch(byCursor.events, [{ event: 'reset' }]);
});

await test('a cursor that is too old, or of another store, begins anew', async (t) => {
  const plane = await startRecordsPlane(t);
  await plane.add(Array.from({ length: 1_001 }, () => record()));
  const old = await listenAt(plane)(t, {}, '?cursor=0');
  t.match((await old.got('reset'))[0], { data: { reason: 'too_old' } });
  const foreign = await listenAt(plane)(t, {}, '?cursor=999999');
  t.match((await foreign.got('reset'))[0], { id: old.lastId(), data: { reason: 'unknown' } });
  await plane.add([record()]);
  await Promise.all([old.got('entry'), foreign.got('entry')]);
  t.equal(idsOf(foreign.events).length, 1);
});

await test('a client that does not read is not buffered for: it is told to read the list again', async (t) => {
  const slow = await listen(t);
  const quick = await listen(t);
  await Promise.all([slow.got('ready'), quick.got('ready')]);
  slow.pause();
  const message = 'x'.repeat(4_000);
  const count = 3_000;
  for (let at = 0; at < count; at += 250)
    await shared.add(Array.from({ length: 250 }, () => record({ data: { error_message: message } })));
  await quick.got('entry', count);
  slow.resume();
  t.match((await slow.got('reset'))[0], { data: { reason: 'slow' } });
  t.ok(idsOf(slow.events).length < count, 'entries were left out');
  const next = record();
  await shared.add([next]);
  await waitFor('the next entry', () => idsOf(slow.events).at(-1) === next.id);
});

await test('comments keep a quiet stream open', async (t) => {
  const plane = await startRecordsPlane(t, { heartbeatMs: 20 });
  const stream = await listenAt(plane)(t);
  await stream.got('ready');
  await waitFor('three heartbeats', () => stream.comments() >= 3);
});

await test('a stream ends with its key, and all of them with the process', async (t) => {
  const plane = await startRecordsPlane(t);
  const team = await listenAt(plane)(t, asTeam);
  const master = await listenAt(plane)(t);
  await Promise.all([team.got('ready'), master.got('ready')]);
  plane.revoke();
  await waitFor('the stream of the key to end', () => team.isOver());
  t.notOk(master.isOver());
  const tookMs = watchTime();
  await plane.app.close();
  await waitFor('the other stream to end', () => master.isOver());
  t.ok(tookMs() < 2_000);
});

/** The cookie of a session with the master key. */
const sealed = ({ at }: RecordsPlane): string =>
  sealSession({ digest: digestOf('master'), endsAtMs: at.nowMs + 1_000 }, 'master');

await test('a stream ends with the master key or the session that opened it, and keeps to the path that its key has now', async (t) => {
  const plane = await startRecordsPlane(t);
  const [first, second] = [sealed(plane), sealed(plane)];
  const [ended, going, master, team] = await Promise.all([
    openStream(t, `${plane.address}/admin/live`, { cookie: `gateway_session=${first}` }),
    openStream(t, `${plane.address}/admin/live`, { cookie: `gateway_session=${second}` }),
    listenAt(plane)(t),
    listenAt(plane)(t, asTeam),
  ]);
  await Promise.all([ended.got('ready'), going.got('ready'), master.got('ready'), team.got('ready')]);
  const session = openSession(first, 'master', plane.at.nowMs);
  if (session === undefined) throw new Error('the session does not open');
  const { written } = endSession([], session, plane.at.nowMs);
  const moved = sampleKey('team', { id: 'team', userPath: '/moved', role: 'admin' });
  plane.renew(credentialsOf(digestOf('master'), [moved], true, endedByOwner(written)));
  await waitFor('the stream of the session to end', () => ended.isOver());
  t.same([going.isOver(), master.isOver()], [false, false]);
  const records = ['/team', '/moved/app'].map((user_path) => record({ user_path }));
  await plane.add(records);
  await team.got('entry');
  t.same(idsOf(team.events), [records[1]?.id]);
  plane.renew(credentialsOf(digestOf('another'), [moved]));
  await waitFor('the streams of the master key to end', () => master.isOver() && going.isOver());
  t.notOk(team.isOver());
  plane.renew(credentialsOf(digestOf('another'), [sampleKey('team', { id: 'team', userPath: '/moved' })]));
  await waitFor('the stream of a key without a role to end', () => team.isOver());
});

await test('streams are counted, in all and for each key', async (t) => {
  const plane = await startRecordsPlane(t);
  const open = listenAt(plane);
  const ofKey = await Promise.all(Array.from({ length: 20 }, () => open(t, asTeam)));
  t.ok(ofKey.every(({ status }) => status === 200));
  t.match(await plane.ask('/live', asTeam), { status: 503, body: { code: 'too_many_listeners' } });
  const others = await Promise.all(Array.from({ length: 80 }, () => open(t)));
  t.ok(others.every(({ status }) => status === 200));
  const refused = await plane.ask('/live');
  t.match(refused, { status: 503, body: { code: 'too_many_listeners' } });
  t.ok(refused.headers.get('retry-after'));
  ofKey[0]?.close();
  await waitFor('its place', async () => (await open(t, asTeam)).status === 200);
});

await test('wrong cursors are refused, and so are callers without access', async (t) => {
  for (const cursor of ['-1', 'x', '1.5', '', '9007199254740992', '1&cursor=2'])
    t.match(await shared.ask(`/live?cursor=${cursor}`), { status: 400, body: { param: 'cursor' } }, cursor);
  t.match(await shared.ask('/live', { 'last-event-id': 'x' }), { status: 400, body: { param: 'Last-Event-ID' } });
  t.equal((await shared.ask('/live?types=audit')).status, 400);
  t.equal((await shared.ask('/live', { authorization: 'Bearer plain' })).status, 403);
});

await test('an outage of the record store is told, and so is its end', async (t) => {
  const plane = await startRecordsPlane(t);
  await plane.add([record()]);
  const stream = await listenAt(plane)(t);
  await stream.got('ready');
  const path = recordFilePath(plane.directory);
  for (const end of ['', '-wal', '-shm']) renameSync(`${path}${end}`, `${path}${end}.away`);
  writeFileSync(path, 'no database'.repeat(100));
  await stream.got('unavailable');
  t.match(await plane.ask('/live'), { status: 503, body: { code: 'store_unavailable' } });
  for (const end of ['', '-wal', '-shm']) renameSync(`${path}${end}.away`, `${path}${end}`);
  await stream.got('ready', 2);
  const next = record();
  await plane.add([next]);
  await stream.got('entry');
  t.same(idsOf(stream.events), [next.id]);
  t.equal(stream.events.filter(({ event }) => event === 'unavailable').length, 1);
  t.equal(plane.troubles.length, 1);
});
