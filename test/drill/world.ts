// What a drill runs on: a fleet with real stores, two providers, and clients who ask all the time.
import { setTimeout as pause } from 'node:timers/promises';
import { ask } from '../support/consumer.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { masterKey } from '../support/gateway.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { smallDisk } from '../support/small-disk.ts';
import type { Teardown } from '../support/teardown.ts';
import type { Sample } from './series.ts';

/** The teams of the drill; each asks for `chat` several times a second. */
export const TEAMS = ['/team-a', '/team-b'] as const;
const PAUSE_MS = 150;
const SCRAPE_MS = 1_000;
/** As long as Prometheus waits. */
const SCRAPE_TIMEOUT_MS = 10_000;

/** Where the state of the fleet is kept: Redis and PostgreSQL, or files on a small disk of its own. */
export type Stores = 'servers' | 'small disk';

export interface World {
  readonly fleet: Fleet;
  readonly primary: FakeUpstream;
  readonly reserve: FakeUpstream;
  /** Absent on a small disk. */
  readonly postgres: PostgresServer | undefined;
  /** The directory of the small disk. */
  readonly disk: string | undefined;
  /** The statuses that clients of a team got since the last call, with how often each. */
  readonly answers: (team: string) => ReadonlyMap<string, number>;
  /** Lets a team ask so many times as often as before. */
  readonly hurry: (team: string, times: number) => void;
  /** What all processes expose, once a second for so long. */
  readonly scrape: (seconds: number) => Promise<Sample[]>;
}

const MODEL = 'large';

function configOf(primary: FakeUpstream, reserve: FakeUpstream): object {
  const provider = (upstream: FakeUpstream): object => ({
    type: 'openai',
    base_url: upstream.url,
    api_key: `sk-of-${upstream.port}`,
    models: [{ id: MODEL, pricing: { input_per_mtok: 1_000, output_per_mtok: 1_000 } }],
  });
  return {
    providers: { primary: provider(primary), reserve: provider(reserve) },
    aliases: [
      { source: 'chat', strategy: 'failover', targets: [{ model: `primary/${MODEL}` }, { model: `reserve/${MODEL}` }] },
    ],
    rate_limits: {
      user_paths: [{ path: '/team-b', limits: [{ period: 'minute', max_requests: 3_000, name: 'team B per minute' }] }],
    },
    audit: { bodies: true },
  };
}

/** Everything runs when this resolves, and is gone when the drill ends. */
export async function startWorld(t: Teardown, stores: Stores): Promise<World> {
  const [primary, reserve] = [
    await startFakeUpstream({ t, models: [MODEL] }),
    await startFakeUpstream({ t, models: [MODEL] }),
  ];
  const disk = stores === 'small disk' ? diskOf(t) : undefined;
  const postgres = stores === 'servers' ? await startPostgres(t) : undefined;
  const files = { 'gateway.yaml': configOf(primary, reserve) };
  const fleet = await startFleet(t, {
    store: stores === 'servers' ? 'redis' : 'sqlite',
    scope: 'fleet',
    proxies: stores === 'servers' ? 2 : 1,
    files,
    env: { ...(disk === undefined ? {} : { GATEWAY_DATA: disk }), DATABASE_URL: await postgres?.database() },
  });
  const clients = startClients(t, fleet);
  return { fleet, primary, reserve, postgres, disk, ...clients, scrape: (seconds) => scrapeFor(fleet, seconds) };
}

function diskOf(t: Teardown): string {
  const directory = smallDisk(t, 48);
  if (directory === undefined) throw new Error('a full disk can be played by a user who may mount one (root)');
  return directory;
}

function startClients(t: Teardown, { proxies }: Fleet): Pick<World, 'answers' | 'hurry'> {
  const seen = new Map(TEAMS.map((team) => [team as string, new Map<string, number>()]));
  const speed = new Map<string, number>();
  const over = new AbortController();
  t.teardown(() => over.abort());
  const askOnce = async (team: string, turn: number): Promise<void> => {
    const proxy = proxies[turn % proxies.length];
    if (proxy === undefined) return;
    const body = { model: 'chat', stream: turn % 2 === 0 };
    const outcome = await ask(proxy, team, body).then(
      ({ status, text }) => (status === 200 && /"error":/.test(text) ? 'broken' : String(status)),
      () => 'no answer',
    );
    const own = seen.get(team);
    own?.set(outcome, (own.get(outcome) ?? 0) + 1);
  };
  const run = async (team: string): Promise<void> => {
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      for (let count = speed.get(team) ?? 1; count > 0; count -= 1) void askOnce(team, turn + count);
      await pause(PAUSE_MS);
    }
  };
  for (const team of TEAMS) void run(team);
  return {
    answers(team) {
      const own = seen.get(team) ?? new Map<string, number>();
      seen.set(team, new Map());
      return own;
    },
    hurry: (team, times) => void speed.set(team, times),
  };
}

async function scrapeFor({ proxies, controlPlane }: Fleet, seconds: number): Promise<Sample[]> {
  const places = [
    ...proxies.map(({ url }, index) => ({ job: 'gateway-proxy', instance: `proxy-${index + 1}`, url })),
    { job: 'gateway-control-plane', instance: 'control-plane', url: controlPlane.address },
  ];
  const samples: Sample[] = [];
  const startedMs = performance.now();
  for (let second = 0; second < seconds; second += 1) {
    await pause(Math.max(0, startedMs + second * SCRAPE_MS - performance.now()));
    const texts = await Promise.all(places.map(({ url }) => metricsOf(url)));
    samples.push(places.map(({ job, instance }, index) => ({ job, instance, text: texts[index] })));
  }
  return samples;
}

async function metricsOf(url: string): Promise<string | undefined> {
  try {
    const headers = { authorization: `Bearer ${masterKey}` };
    const response = await fetch(`${url}/metrics`, { headers, signal: AbortSignal.timeout(SCRAPE_TIMEOUT_MS) });
    return response.ok ? await response.text() : undefined;
  } catch {
    return undefined;
  }
}
