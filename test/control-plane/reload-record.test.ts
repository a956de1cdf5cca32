// A reload of the configuration is an audit entry: what was found, what it changed and the verdict; a start with what was in force is none.
import { test } from 'tap';
import { createReloadRecords } from '../../control-plane/records/reload-record.ts';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import type { ConfigEvent } from '../../gitops/follow/config-status.ts';
import { problemOfFile } from '../../gitops/read/problem.ts';

const nowMs = Date.UTC(2026, 5, 1);

function recording(before: string) {
  const records: RequestRecord[] = [];
  const audit = { isOn: true };
  const append = (record: RequestRecord): void => void records.push(record);
  const reloads = createReloadRecords(before, {
    isAudited: () => audit.isOn,
    append,
    instance: 'cp',
    nowMs: () => nowMs,
  });
  const note = (kind: ConfigEvent['kind'], revision: string, more: Partial<ConfigEvent> = {}) => {
    reloads.note({ kind, revision, problems: [], ...more });
    return records.splice(0).map(({ data, ...record }) => ({ ...record, ...data }));
  };
  return { note, audit };
}

await test('each verdict has an entry, with the revisions before and after it', async (t) => {
  const { note } = recording('r1');
  t.same(note('applied', 'r1'), [], 'a restart is no reload');
  const words = 'loosened: rule user_path /team-a minute: max_requests 60 → 600';
  const changes = [{ kind: 'rule' as const, name: 'user_path /team-a minute', change: 'loosened' as const, words }];
  const applied = {
    about: 'the configuration',
    verdict: 'applied',
    before: { revision: 'r1' },
    after: { revision: 'r2' },
  };
  t.match(note('applied', 'r2', { changes }), [
    {
      method: 'RELOAD',
      path: '/admin/config',
      status_code: 200,
      user_path: '/',
      event_type: 'config_reload',
      config_revision: 'r2',
      instance: 'cp',
      request_body: { ...applied, changes: [words], problems: [] },
    },
  ]);
  const problems = [problemOfFile('a.yaml', 'is empty')];
  t.match(note('rejected', 'r3', { problems }), [
    {
      status_code: 400,
      error_type: 'invalid_request_error',
      error_code: 'config_rejected',
      error_message: /a\.yaml.*is empty/,
      config_revision: 'r2',
      request_body: { verdict: 'rejected', after: { revision: 'r2' }, rejected: { revision: 'r3' } },
    },
  ]);
  t.match(note('recovered', 'r2'), [{ request_body: { verdict: 'recovered' } }]);
  for (const kind of ['warning', 'key-renewed', 'certificates-renewed', 'last-good-used'] as const)
    t.same(note(kind, 'r2'), []);
});

await test('the first configuration has one, and so has the one that switches records off', async (t) => {
  const { note, audit } = recording('');
  t.equal(note('applied', 'r1').length, 1);
  audit.isOn = false;
  t.equal(note('applied', 'r2').length, 1);
  t.equal(note('applied', 'r3').length, 0);
});
