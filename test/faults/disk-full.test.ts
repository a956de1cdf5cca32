// A disk that is full of records, and then of something else: a revocation is stored, in force within a second, and outlasts restarts.
import { readdirSync, statfsSync } from 'node:fs';
import { t as suite, test } from 'tap';
import { diskRoom } from '../../store/disk-room.ts';
import { releaseBallast, takeBallast } from '../../store/state/sqlite/ballast.ts';
import { StateFile } from '../../store/state/sqlite/file.ts';
import { ask, statusesOf } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { type Gateway, readMetric } from '../support/gateway.ts';
import { fillUp, smallDisk } from '../support/small-disk.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);

const freeBytes = (directory: string): number => {
  const { bsize, bavail } = statfsSync(directory);
  return bsize * bavail;
};

interface Room {
  readonly bodies_removed: number;
}

const roomOf = async (fleet: Fleet): Promise<Room | null> =>
  ((await (await fleet.admin('/admin/status')).json()) as { records: Room | null }).records;

/** The processes that the status calls degraded because their disk is full. */
async function fullOf(fleet: Fleet): Promise<string> {
  const { degraded } = (await (await fleet.admin('/admin/status')).json()) as {
    degraded: readonly { readonly where: string; readonly reason: string }[];
  };
  const full = degraded.filter(({ reason }) => reason === 'disk_full').map(({ where }) => where);
  return full.toSorted().join(', ');
}

const disk = smallDisk(suite, 48);
const skip = disk === undefined ? 'this user may not mount a small disk' : false;

await test('records leave room to the state store, and the state store has taken some', { skip }, async (t) => {
  const data = String(disk);
  const upstream = await startFakeUpstream({ t: suite });
  const fleet = await startFleet(t, {
    store: 'sqlite',
    upstream,
    proxies: 1,
    config: { audit: { bodies: true, body_limit: '1MiB' } },
    env: { GATEWAY_DATA: data },
  });
  const [proxy] = fleet.proxies as readonly [Gateway];
  const issued = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name: 'ann', user_path: '/team' } });
  const { id, value } = (await issued.json()) as { id: string; value: string };
  const withKey = { headers: { authorization: `Bearer ${value}` } };
  await fleet.write('PUT', { user_path: '/limited', limit_key: { period: 'day' }, max_requests: 2 });
  await fleet.settle();
  t.same(await statusesOf(proxy, '/limited', 3), [200, 200, 429]);

  const spoken = { messages: [{ role: 'user', content: 'x'.repeat(900_000) }] };
  await waitFor(
    'the oldest bodies to go',
    async () => {
      await Promise.all([1, 2, 3, 4].map(() => ask(proxy, '/', spoken, withKey)));
      return ((await roomOf(fleet))?.bodies_removed ?? 0) > 0;
    },
    60_000,
  );
  t.ok(freeBytes(data) >= 2 * 1024 * 1024, `records have left ${freeBytes(data)} bytes`);
  t.ok(readdirSync(data).includes('state.reserve'));

  fillUp(data);
  t.ok(freeBytes(data) < 4_096, 'nothing is left');
  const roomsOf = async (): Promise<(number | undefined)[]> => {
    const texts = [await proxy.metrics(), await (await fetch(`${fleet.controlPlane.address}/metrics`)).text()];
    return texts.map((text) => readMetric(text, 'gateway_disk_room_bytes'));
  };
  await waitFor('both planes to say that no room is left', async () => (await roomsOf()).every((bytes) => bytes === 0));
  const revokedMs = performance.now();
  t.equal((await fleet.admin(`/admin/auth-keys/${id}/deactivate`, { method: 'POST' })).status, 204);
  await waitFor('the revocation', async () => (await ask(proxy, '/', {}, withKey)).status === 401, 3_000);
  const tookMs = performance.now() - revokedMs;
  t.ok(tookMs < 1_000, `it was in force after ${Math.round(tookMs)} ms`);
  for (let count = 0; count < 20; count += 1) {
    const more = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name: `key ${count}` } });
    t.equal(more.status, 201, 'the room that was taken is enough for more');
  }

  await Promise.all([fleet.controlPlane.kill(), proxy.process.kill()]);
  await proxy.restart();
  await fleet.restartControlPlane();
  t.equal((await ask(proxy, '/', {}, withKey)).status, 401, 'after a restart on the full disk');
  t.match(await (await fleet.admin(`/admin/auth-keys/${id}`)).json(), { active: false });
  t.same(await statusesOf(proxy, '/limited', 1), [429], 'counters survive');
  await waitFor('the status to say it of both planes', async () => {
    // What else is on the disk may have shrunk.
    fillUp(data);
    return (await fullOf(fleet)) === 'control-plane, proxy-1';
  });
});

await test('a process whose write fails while another one gives the room back writes it after all', { skip }, (t) => {
  const data = String(smallDisk(t, 48));
  const file = new StateFile(data, 1_000, false);
  t.teardown(() => file.close());
  file.use((tables) => tables.initialise(), true);
  fillUp(data);
  const body = 'x'.repeat(1024 * 1024);
  const beat = { instance: 'proxy-1', atMs: 1 };
  let failures = 0;
  file.use((tables) => {
    try {
      tables.writeHeartbeat(beat, body);
    } catch (error) {
      failures += 1;
      releaseBallast(data);
      throw error;
    }
  });
  t.equal(failures, 1);
  fillUp(data);
  const write = (): void => file.use((tables) => tables.writeHeartbeat(beat, body.repeat(8)));
  t.throws(write, /cannot grow/, 'nobody has more to give back');
  t.end();
});

await test('what the state store has taken on a small disk, and gives back, is no room for records', { skip }, (t) => {
  const data = String(smallDisk(t, 48));
  takeBallast(data);
  t.ok(readdirSync(data).includes('state.reserve'));
  fillUp(data);
  t.ok(releaseBallast(data));
  t.ok(freeBytes(data) >= 2 * 1024 * 1024, `it has given back ${freeBytes(data)} bytes`);
  t.equal(diskRoom(data).freeBytes, 0);
  t.end();
});
