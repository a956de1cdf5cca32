// Ten faults of a night: what happens, where it shows first, and the command that helps.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fillUp } from '../support/small-disk.ts';
import type { Stores, World } from './world.ts';

/** A write of an operator, as a line of a shell and as a request. */
interface AdminCommand {
  readonly method: 'PUT' | 'POST' | 'DELETE';
  /** Below `/admin/`. */
  readonly path: string;
  readonly body: object;
}

/** What ends a fault elsewhere: at a server, in the repository of the configuration. */
interface OutsideCommand {
  readonly line: string;
  readonly run: (world: World) => Promise<unknown>;
}

export interface Fault {
  readonly name: string;
  readonly stores: Stores;
  /** The alert that must fire first. */
  readonly alert: string;
  /** Seconds that it may take from the beginning of the fault. */
  readonly within: number;
  /** The page of the dashboard that shows it. */
  readonly page: string;
  /** The team whose request is explained; default: /team-a. */
  readonly explained?: string;
  readonly begin: (world: World) => unknown;
  readonly command: AdminCommand | OutsideCommand;
  /** Whether the command has worked; default: every process is ready, and not degraded. Clients of /team-a must be served in any case. */
  readonly helped?: (world: World) => Promise<boolean>;
  /** Seconds that the fault is watched; default `WATCHED_SECONDS`. */
  readonly seconds?: number;
}

const drain = (reason: string): AdminCommand => ({
  method: 'POST',
  path: 'targets/primary/drain',
  body: { reason, expires_in: '2h' },
});

/** Whether no proxy has called the primary provider since the last look. A dead one has no ledger of calls. */
async function isLeftAlone({ fleet, primary }: World): Promise<boolean> {
  const labels = { provider: 'primary', outcome: 'unreachable' };
  const counts = await Promise.all(
    fleet.proxies.map((proxy) => proxy.metric('gateway_upstream_attempts_total', labels)),
  );
  const calls = counts.reduce<number>((sum, count) => sum + (count ?? 0), primary.ledger.length);
  const before = lastCalls.get(fleet);
  lastCalls.set(fleet, calls);
  return calls === before;
}

const lastCalls = new WeakMap<object, number>();

const SLOW_MS = 20_000;

export const FAULTS: readonly Fault[] = [
  {
    name: 'A provider is dead',
    stores: 'servers',
    alert: 'GatewayProviderFailing',
    within: 120,
    page: 'Models',
    begin: ({ primary }) => primary.behave({ kind: 'refused' }),
    command: drain('primary is down'),
    helped: isLeftAlone,
  },
  {
    name: 'A provider is slow',
    stores: 'servers',
    alert: 'GatewayProviderSlower',
    within: 600,
    page: 'Models',
    begin: ({ primary }) => primary.behave({ kind: 'delay', ms: SLOW_MS }),
    command: drain('primary is slow'),
    helped: isLeftAlone,
    seconds: 45,
  },
  {
    name: 'A provider limits',
    stores: 'servers',
    alert: 'GatewayProviderRateLimits',
    within: 900,
    page: 'Models',
    begin: ({ primary }) =>
      primary.behave({ kind: 'error', status: 429, message: 'Rate limit reached', retryAfter: '5' }),
    command: drain('the account at primary is used up'),
    helped: isLeftAlone,
  },
  {
    name: 'A provider refuses the key',
    stores: 'servers',
    alert: 'GatewayProviderKeyRefused',
    within: 300,
    page: 'Models',
    begin: ({ primary }) => primary.behave({ kind: 'error', status: 401, message: 'Incorrect API key provided' }),
    command: drain('primary refuses the key; a new one is asked for'),
    helped: isLeftAlone,
  },
  {
    name: 'Redis is down',
    stores: 'servers',
    alert: 'GatewayStoreLost',
    within: 120,
    page: 'Overview',
    begin: ({ fleet }) => fleet.redis?.kill(),
    command: { line: 'systemctl restart redis-server', run: async ({ fleet }) => fleet.redis?.restart() },
  },
  {
    name: 'PostgreSQL is down',
    stores: 'servers',
    alert: 'GatewayRecordStoreLost',
    within: 600,
    page: 'Overview',
    begin: ({ postgres }) => postgres?.kill(),
    command: { line: 'systemctl restart postgresql', run: async ({ postgres }) => postgres?.restart() },
  },
  {
    name: 'The disk is full',
    stores: 'small disk',
    alert: 'GatewayDiskFull',
    within: 600,
    page: 'Overview',
    begin: ({ disk = '' }) => fillUp(disk),
    command: { line: 'rm /var/lib/gateway/something-else', run: async ({ disk = '' }) => rmSync(stuffing(disk)) },
  },
  {
    name: 'A bad config is pushed',
    stores: 'servers',
    alert: 'GatewayConfigRejected',
    within: 300,
    page: 'Config',
    begin: ({ fleet }) => {
      const file = join(fleet.home, 'config', 'gateway.yaml');
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, text.replace('rate_limits:', 'rate_limit:'));
    },
    command: {
      line: 'git revert --no-edit HEAD && git push',
      run: async ({ fleet }) => {
        const file = join(fleet.home, 'config', 'gateway.yaml');
        writeFileSync(file, readFileSync(file, 'utf8').replace('rate_limit:', 'rate_limits:'));
      },
    },
  },
  {
    name: 'A tenant runs away',
    stores: 'servers',
    alert: 'GatewayTeamRefused',
    within: 300,
    page: 'Requests',
    explained: '/team-b',
    begin: async ({ fleet, hurry }) => {
      await fleet.write('PUT', {
        user_path: '/team-b',
        limit_key: { period: 'minute' },
        max_requests: 100,
        reason: 'a cap that a loop of the team uses up',
      });
      hurry('/team-b', 10);
    },
    command: {
      method: 'PUT',
      path: 'rate-limits',
      body: {
        user_path: '/team-b',
        limit_key: { period: 'minute' },
        max_requests: 0,
        expires_in: '30m',
        reason: 'a loop of the team; they know',
      },
    },
    helped: async ({ answers }) => [...answers('/team-b').keys()].every((status) => status === '429'),
  },
  {
    name: 'A budget is used up',
    stores: 'servers',
    alert: 'GatewayBudgetUsedUp',
    within: 600,
    page: 'Budgets',
    begin: ({ fleet }) =>
      fleet.admin('/admin/budgets', {
        method: 'PUT',
        body: { user_path: '/team-a', budget_key: { period: 'daily' }, amount: 0.01 },
      }),
    command: {
      method: 'PUT',
      path: 'budgets',
      body: {
        user_path: '/team-a',
        budget_key: { period: 'daily' },
        amount: 100_000,
        expires_in: '12h',
        reason: 'until the morning',
      },
    },
  },
];

/** The command as a person types it; `admin` is the function of docs/operating.md. */
export function lineOf(command: Fault['command']): string {
  if ('line' in command) return command.line;
  const method = command.method === 'POST' ? '' : ` -X ${command.method}`;
  return `admin ${command.path}${method} --json '${JSON.stringify(command.body)}'`;
}

/** Does what the command says. Throws when the control plane refuses it. */
export async function run(command: Fault['command'], world: World): Promise<void> {
  if ('line' in command) {
    await command.run(world);
    return;
  }
  const { method, path, body } = command;
  const answer = await world.fleet.admin(`/admin/${path}`, { method, body });
  const text = await answer.text();
  if (answer.status >= 300) throw new Error(`${lineOf(command)}\nanswered ${answer.status}: ${text}`);
}

function stuffing(disk: string): string {
  return join(disk, 'something-else');
}
