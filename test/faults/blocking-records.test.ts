// No record, whatever its bodies are made of, holds the event loop of the control plane for longer than 50 ms: neither stored nor shown.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { openJournal } from '../../store/records/open-journal.ts';
import { separator } from '../../store/records/record-line.ts';
import { record } from '../control-plane/records-plane.ts';
import { isFull } from '../support/extent.ts';
import { masterKey } from '../support/gateway.ts';
import { send } from '../support/measured-gateway.ts';
import { startPostgres } from '../support/postgres.ts';
import { startProcess } from '../support/process.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { createMeter, type Measured, mostMs, quickestOf } from '../support/turn-meter.ts';
import { fetch } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

/** Of one conversation: as much as is shown of one. */
const ofOneThread = 8;
/** The most that is recorded of one body. */
const most = 2 ** 20 - 9;
const times = (text: string): string => text.repeat(Math.floor(most / Buffer.byteLength(text)));
const bodies: Readonly<Record<string, string>> = {
  'a text': `{"x":"${times('\\"\\n\u00e4')}"}`,
  numbers: `{"x":[${times('0.12345678901234567,')}1]}`,
  'empty objects': `{"x":[${times('{},')}1]}`,
};

interface Plane {
  /** Keeps these as a proxy would; until the last one is listed. */
  store(records: readonly RequestRecord[], body: string): Promise<void>;
  /** The quickest of a few tries to store a record, and to ask for a path below /admin/audit. */
  stores(body: string): Promise<Measured>;
  shows(path: string): Promise<Measured>;
}

async function startPlane(databaseUrl: string | undefined): Promise<Plane> {
  const home = temporaryDirectory(suite, 'gateway-records');
  writeFileSync(join(home, 'gateway.yaml'), '{}');
  const meter = await createMeter();
  const env = { GATEWAY_CONFIG: home, GATEWAY_DATA: home, GATEWAY_MASTER_KEY: masterKey, GATEWAY_ADMIN_PORT: '0' };
  const plane = await startProcess({
    t: suite,
    entry: 'control-plane/main.ts',
    execArgv: meter.execArgv,
    env: { ...env, ...meter.env, DATABASE_URL: databaseUrl },
  });
  const port = Number(new URL(plane.address).port);
  const journal = openJournal({
    dataDirectory: home,
    redisUrl: undefined,
    redisPrefix: '',
    instance: 'proxy-1',
  });
  suite.teardown(() => journal.close());
  let stored = 0;
  const areListed = async (): Promise<boolean> => {
    const headers = { authorization: `Bearer ${masterKey}` };
    const answer = await fetch(`${plane.address}/admin/audit/log?limit=1`, { headers });
    return ((await answer.json()) as { total: number }).total === stored;
  };
  const store: Plane['store'] = async (records, body) => {
    for (const each of records) journal.append([JSON.stringify(each), body, body].join(separator));
    stored += records.length;
    await waitFor('the records to be stored', areListed, 10_000);
  };
  return {
    store,
    stores: (body) =>
      quickestOf(() => meter.during(() => store([record({ started_ms: Date.now() })], body).then(() => 200))),
    shows: (path) =>
      quickestOf(() => meter.during(() => send(port, { path: `/admin/audit/${path}`, method: 'GET', body: '' }))),
  };
}

const server = await startPostgres(suite);
const planes = { SQLite: await startPlane(undefined), PostgreSQL: await startPlane(await server.database()) };

for (const [engine, plane] of Object.entries(planes)) {
  for (const [name, body] of Object.entries(bodies)) {
    // What a body is made of matters before it comes to the engine: in a short run one of them tells of the other engine.
    if (!isFull && engine !== 'SQLite' && name !== 'a text') continue;
    await test(`${engine}: ${name}`, async (t) => {
      const stored = await plane.stores(body);
      t.ok(stored.longestMs < mostMs, `stored: ${stored.longestMs.toFixed(0)} ms`);
      const thread = Array.from({ length: ofOneThread }, () => record({ session_id: name, started_ms: Date.now() }));
      await plane.store(thread, body);
      for (const path of ['detail', 'conversation']) {
        const { status, longestMs } = await plane.shows(`${path}?log_id=${thread[0]?.id}`);
        t.ok(longestMs < mostMs, `${path}: ${longestMs.toFixed(0)} ms`);
        t.equal(status, 200, path);
      }
    });
  }
}
