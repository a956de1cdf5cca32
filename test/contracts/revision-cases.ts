// What both engines of the record store have to do with revisions of the configuration. Each case has an empty store of its own.
import { createHash } from 'node:crypto';
import { type Test, test } from 'tap';
import type { RevisionFile } from '../../domain/records/config-revision.ts';
import {
  mostGone,
  type NotedVerdict,
  type RevisionBounds,
  type RevisionToKeep,
} from '../../store/records/kept-revisions.ts';
import type { RecordObjects } from '../support/record-objects.ts';
import type { RecordEngine } from './record-store-engines.ts';

type Case = (t: Test, engine: RecordEngine) => Promise<void>;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const bounds: RevisionBounds = { entries: 3, bytes: 1_000 };

/** A revision whose files hold these texts, named `0.yaml` and so on. */
function revisionOf(texts: readonly string[], more: Partial<RevisionToKeep> = {}): RevisionToKeep {
  const hash = hashOf(texts.join('\n'));
  const files = texts.map((text, at): RevisionFile => ({ name: `${at}.yaml`, hash: hashOf(text), bytes: text.length }));
  const facts = { instance: 'plane' };
  return { revision: hash.slice(0, 12), hash, at_ms: 1_000, outcome: 'applied', facts, files, ...more };
}

async function keep(store: RecordObjects, texts: readonly string[], more: Partial<RevisionToKeep> = {}) {
  await store.keepFiles(texts.map((text) => ({ hash: hashOf(text), bytes: text.length, packed: `packed ${text}` })));
  return store.keepRevision(revisionOf(texts, more), bounds);
}

const textsOf = async (store: RecordObjects): Promise<string[]> =>
  (await store.revisions()).map(({ hash, outcome }) => `${outcome} ${hash.slice(0, 4)}`);
const said = (outcome: string, ...texts: string[]): string => `${outcome} ${hashOf(texts.join('\n')).slice(0, 4)}`;
const inForce = (instance: string, revision: string, sinceMs: number): NotedVerdict => {
  return { instance, revision, verdict: 'in_force', sinceMs, problems: [] };
};

const cases: Readonly<Record<string, Case>> = {
  async 'a revision that no database takes as a text is not kept, and keeps out nothing else'(t, engine) {
    const { store } = await engine.start(t);
    await keep(store, ['a']);
    const { revision } = revisionOf(['a']);
    const noted = [inForce('odd', '\0', 1), inForce('p1', revision, 2)];
    t.same(await store.noteVerdicts(noted, ['odd', 'p1'], 3), ['odd']);
    t.match(await store.revisions(), [{ verdicts: [{ instance: 'p1', in_force_ms: 2 }] }]);
    t.equal(await store.revisionFiles('\0'), undefined);
  },

  async 'a revision names the files that it lacks, and is kept with all that is known of it once they are there'(
    t,
    engine,
  ) {
    const { store } = await engine.start(t);
    const facts = {
      instance: 'plane',
      commit: 'f'.repeat(40),
      author: 'Zoë 🙂',
      subject: 'raise "limits"; DROP TABLE',
      changes: { loosened: 2 },
    };
    const wanted = revisionOf(['a', 'b', 'a'], { facts });
    t.same(await store.keepRevision(wanted, bounds), { isNew: false, lacking: [hashOf('a'), hashOf('b')] });
    t.same(await store.revisions(), []);
    t.same(await keep(store, ['a', 'b', 'a'], { facts }), { isNew: true, lacking: [] });
    const { files = [], ...entry } = wanted;
    t.match(await store.revisions(), [{ ...entry, files: { count: 3, bytes: 3 }, verdicts: [] }]);
    t.same(await store.revisionFiles(wanted.revision), { hash: wanted.hash, files });
    t.same(await store.packedFiles([hashOf('a'), hashOf('none')]), [
      { hash: hashOf('a'), bytes: 1, packed: 'packed a' },
    ]);
    t.equal(await store.revisionFiles('none'), undefined);
  },

  async 'what was kept last is no new entry, what comes again later is, and a file is kept once'(t, engine) {
    const { store, query } = await engine.start(t);
    t.equal((await keep(store, ['a', 'b'])).isNew, true);
    t.equal((await keep(store, ['a', 'b'])).isNew, false);
    t.equal((await keep(store, ['a', 'c'], { outcome: 'rejected' })).isNew, true);
    t.equal((await keep(store, ['a', 'c'], { outcome: 'rejected' })).isNew, false);
    // A start with the last good copy, while the directory is rejected.
    t.equal((await keep(store, ['a', 'b'])).isNew, false);
    t.equal((await keep(store, ['a', 'c'])).isNew, true);
    t.equal((await keep(store, ['a', 'b'])).isNew, true);
    t.same(await textsOf(store), [said('applied', 'a', 'b'), said('applied', 'a', 'c'), said('rejected', 'a', 'c')]);
    t.match(await query('SELECT count(*) AS n FROM config_file'), [{ n: /^3$/ }]);
    t.match(await query('SELECT count(*) AS n FROM config_content'), [{ n: /^2$/ }]);
  },

  async 'the oldest go beyond either bound, with files that no other one has; what is in force stays'(t, engine) {
    const { store, query } = await engine.start(t);
    await keep(store, ['a', 'x']);
    for (const text of ['b', 'c', 'd']) await keep(store, [text, 'x'], { outcome: 'rejected' });
    t.same(await textsOf(store), [said('rejected', 'd', 'x'), said('rejected', 'c', 'x'), said('applied', 'a', 'x')]);
    t.match(await query('SELECT count(*) AS n FROM config_file'), [{ n: /^4$/ }]);
    const large = 'l'.repeat(600);
    await keep(store, [large, 'x']);
    t.equal((await store.revisions()).length, 3);
    await keep(store, [`${large}!`, 'x']);
    t.same(await textsOf(store), [said('applied', `${large}!`, 'x')]);
    t.match(await query('SELECT count(*) AS n FROM config_file'), [{ n: /^2$/ }]);
    t.same(await store.keepRevision({ ...revisionOf(['none']), files: undefined } as never, bounds), {
      isNew: true,
      lacking: [],
    });
    const [newest] = await store.revisions();
    t.equal(newest?.files, undefined);
  },

  async 'verdicts of proxies are kept with the newest entry of a revision, and go with it'(t, engine) {
    const { store, query } = await engine.start(t);
    const [one, two] = [['a'], ['b']].map((texts) => revisionOf(texts).revision) as [string, string];
    const verdicts = async () => (await store.revisions()).map((each) => each.verdicts);
    await keep(store, ['a']);
    t.same(
      await store.noteVerdicts([inForce('p1', one, 10), inForce('p2', one, 20), inForce('p3', two, 5)], ['p1'], 30),
      ['p3'],
    );
    // Another control plane hears of it later.
    await store.noteVerdicts([inForce('p1', one, 40)], ['p1'], 40);
    await keep(store, ['b']);
    const problems = ['gateway.yaml:1:1 is wrong'];
    await store.noteVerdicts(
      [inForce('p1', two, 50), { instance: 'p2', revision: two, verdict: 'rejected', sinceMs: 60, problems }],
      ['p1', 'p2'],
      70,
    );
    t.same(await verdicts(), [
      [
        { instance: 'p1', in_force_ms: 50 },
        { instance: 'p2', rejected_ms: 60, problems },
      ],
      [
        { instance: 'p1', in_force_ms: 10, until_ms: 70 },
        { instance: 'p2', in_force_ms: 20 },
      ],
    ]);
    await keep(store, ['a']);
    await store.noteVerdicts([inForce('p1', one, 80)], ['p1', 'p2'], 90);
    t.match(await verdicts(), [
      [{ instance: 'p1', in_force_ms: 80 }],
      [{ instance: 'p1', until_ms: 90 }, {}],
      [{ in_force_ms: 10, until_ms: 70 }, {}],
    ]);
    for (const text of ['c', 'd']) await keep(store, [text]);
    t.match(await query('SELECT count(*) AS n FROM config_verdict'), [{ n: /^1$/ }]);
  },

  async 'of proxies that are no longer heard only the newest stay'(t, engine) {
    const { store } = await engine.start(t);
    await keep(store, ['a']);
    const { revision } = revisionOf(['a']);
    const pods = Array.from({ length: mostGone + 10 }, (_, at) => inForce(`pod-${at}`, revision, at));
    await store.noteVerdicts([...pods, inForce('old', revision, 0)], ['old'], 1_000);
    const [entry] = await store.revisions();
    const names = new Set(entry?.verdicts.map(({ instance }) => instance));
    t.equal(names.size, mostGone + 1);
    t.ok(names.has('old') && names.has(`pod-${mostGone + 9}`) && !names.has('pod-9'));
  },
};

export async function testRevisionContract(engine: RecordEngine): Promise<void> {
  for (const [name, run] of Object.entries(cases)) await test(`${engine.name}: ${name}`, (t) => run(t, engine));
}
