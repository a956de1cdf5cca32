// When a key was used last: the hour, from whichever proxy saw it, without a write per request, also after the proxy is gone.
import { t as suite, test } from 'tap';
import { ask } from '../support/consumer.ts';
import { scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import type { Fleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { shareFleet } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

interface Issued {
  readonly id: string;
  readonly value: string;
}

async function issue(fleet: Fleet, name: string): Promise<Issued> {
  // Through a proxy, so that it knows the key when the answer comes.
  const [proxy] = fleet.proxies as readonly [Gateway];
  const response = await proxy.fetch('/admin/auth-keys', { method: 'POST', body: { name, dashboard_access: true } });
  const issued = (await response.json()) as Issued;
  await fleet.settle();
  return issued;
}

/** The member of every key by its name, as the listing shows it. */
async function usesOf(fleet: Fleet): Promise<Record<string, string | undefined>> {
  const listed = (await (await fleet.admin('/admin/auth-keys')).json()) as { name: string; last_used_at?: string }[];
  return Object.fromEntries(listed.map(({ name, last_used_at: at }) => [name, at]));
}

/** The hour that has begun, or the one before: it may end during a test. */
function isThisHour(moment: string | undefined): boolean {
  const ageMs = Date.now() - Date.parse(moment ?? '');
  return (moment ?? '').endsWith(':00:00.000Z') && ageMs >= 0 && ageMs < 2 * 3_600_000;
}

for (const store of scenarioStores) {
  await test(`a fleet on ${store}`, async (t) => {
    const upstream = await startFakeUpstream({ t });
    const fleet = await shareFleet({ store, upstream });
    const [first, second] = fleet.proxies as readonly [Gateway, Gateway];
    const keys = {
      asked: await issue(fleet, 'asked'),
      listed: await issue(fleet, 'listed'),
      operating: await issue(fleet, 'operating'),
      direct: await issue(fleet, 'direct'),
      atTheEnd: await issue(fleet, 'at the end'),
      unused: await issue(fleet, 'unused'),
    };
    const as = ({ value }: Issued) => ({ headers: { authorization: `Bearer ${value}` } });
    t.same(await usesOf(fleet), {
      asked: undefined,
      listed: undefined,
      operating: undefined,
      direct: undefined,
      'at the end': undefined,
      unused: undefined,
    });
    const { revision } = await revisions(fleet);
    t.equal((await ask(first, '/', {}, as(keys.asked))).status, 200);
    t.equal((await second.fetch('/v1/models', as(keys.listed))).status, 200);
    // A control plane that is busy may be answered for with 503.
    await waitFor(
      'an answer',
      async () => (await second.fetch('/admin/rate-limits', as(keys.operating))).status === 200,
    );
    t.equal((await fleet.admin('/admin/rate-limits', as(keys.direct))).status, 200);
    await waitFor('four uses', async () => {
      const uses = await usesOf(fleet);
      return ['asked', 'listed', 'operating', 'direct'].every((name) => isThisHour(uses[name]));
    });
    const one = (await (await fleet.admin(`/admin/auth-keys/${keys.asked.id}`)).json()) as { last_used_at?: string };
    t.ok(isThisHour(one.last_used_at), 'one key shows it too');

    // What was seen last is written when the proxy ends, and stays when it is another process by another name.
    await first.fetch('/v1/models', as(keys.atTheEnd));
    t.teardown(() => first.restart());
    await first.process.stop();
    const uses = await usesOf(fleet);
    t.ok(isThisHour(uses['at the end']));
    t.ok(isThisHour(uses['asked']));
    t.equal(uses['unused'], undefined);
    t.equal((await revisions(fleet)).revision, revision, 'a use is no change of the managed state');

    for (const [method, below, body] of [
      ['PATCH', '', { description: 'changed' }],
      ['PUT', '/labels', { labels: ['changed'] }],
    ] as const) {
      const path = `/admin/auth-keys/${keys.asked.id}${below}`;
      const changed = (await (await fleet.admin(path, { method, body })).json()) as { last_used_at?: string };
      t.ok(isThisHour(changed.last_used_at), `so does the answer of ${method}`);
    }
    await fleet.admin(`/admin/auth-keys/${keys.asked.id}`, { method: 'DELETE' });
    t.notOk('asked' in (await usesOf(fleet)));
  });
}

async function revisions(fleet: Fleet): Promise<{ revision: number }> {
  const status = (await (await fleet.admin('/admin/status')).json()) as { desired: { state_revision: number } };
  return { revision: status.desired.state_revision };
}
