// A store that is brought back to an older state: what is done after that state, and what is looked at while it comes back.
import { setTimeout } from 'node:timers/promises';
import { ask } from './consumer.ts';
import type { Fleet } from './fleet.ts';
import type { Gateway } from './gateway.ts';
import { listRules } from './operator.ts';
import { waitFor } from './wait-for.ts';

interface Issued {
  readonly id: string;
  readonly value: string;
}

const ruleOf = (path: string): object => ({ user_path: path, limit_key: { period: 'day' }, max_requests: 1_000 });

async function issueKey(fleet: Fleet, name: string): Promise<Issued> {
  const answer = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name, user_path: '/team' } });
  return (await answer.json()) as Issued;
}

export async function statusWith(proxy: Gateway, { value }: Issued): Promise<number> {
  return (await ask(proxy, '/', {}, { headers: { authorization: `Bearer ${value}` } })).status;
}

export const paths = async (fleet: Fleet): Promise<string[]> => (await listRules(fleet)).map(({ subject }) => subject);

/** What is done after the state that comes back: two keys are revoked, one of them deleted, a rule is made and one removed. */
interface Since {
  readonly revoked: readonly Issued[];
  readonly kept: Issued;
  readonly run: () => Promise<void>;
}

export async function prepare(fleet: Fleet): Promise<Since> {
  const [deactivated, deleted, kept] = [
    await issueKey(fleet, 'deactivated'),
    await issueKey(fleet, 'deleted'),
    await issueKey(fleet, 'kept'),
  ];
  await fleet.write('PUT', ruleOf('/removed'));
  await fleet.settle();
  return {
    revoked: [deactivated, deleted],
    kept,
    async run() {
      await fleet.admin(`/admin/auth-keys/${deactivated.id}/deactivate`, { method: 'POST' });
      await fleet.admin(`/admin/auth-keys/${deleted.id}`, { method: 'DELETE' });
      await fleet.write('DELETE', { user_path: '/removed', limit_key: { period: 'day' } });
      await fleet.write('PUT', ruleOf('/made'));
      await fleet.settle();
      for (const proxy of fleet.proxies)
        await waitFor('the revocations', async () => (await statusWith(proxy, deactivated)) === 401);
    },
  };
}

/** Between two questions with the revoked keys: the machine has other work. Milliseconds. */
const pauseMs = 20;

/** While `work` runs, the revoked keys are asked with again and again. Gives the statuses that were answered. */
export async function statusesDuring(
  fleet: Fleet,
  revoked: readonly Issued[],
  work: () => Promise<void>,
): Promise<Set<number>> {
  const statuses = new Set<number>();
  const over = new AbortController();
  const asking = fleet.proxies.map(async (proxy) => {
    while (!over.signal.aborted) {
      for (const key of revoked) statuses.add(await statusWith(proxy, key).catch(() => 0));
      await setTimeout(pauseMs);
    }
  });
  await work().finally(() => over.abort());
  await Promise.all(asking);
  return statuses;
}

/** By any process: the control plane, or a proxy that was faster. */
export async function writeBacks(fleet: Fleet): Promise<number> {
  const status = (await (await fleet.admin('/admin/status')).json()) as { store: { write_backs: number } };
  const ofProxies = await Promise.all(fleet.proxies.map((proxy) => proxy.metric('gateway_state_write_backs_total')));
  return ofProxies.reduce<number>((sum, count = 0) => sum + count, status.store.write_backs);
}

export const saidToBeBehind = ({ controlPlane, proxies }: Fleet): boolean =>
  [controlPlane, ...proxies.map((proxy) => proxy.process)].some((part) =>
    part.logs().some(({ msg }) => String(msg).startsWith('the state store went back')),
  );
