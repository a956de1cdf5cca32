// What a person on call can see of a fault: readiness, status, targets, an explanation and the log, in sentences that are the same in every run.
import { masterKey } from '../support/gateway.ts';
import type { World } from './world.ts';

/** What was seen at one moment; lines of Markdown. */
export interface Sight {
  readonly readiness: readonly string[];
  /** What /admin/status calls degraded. */
  readonly status: readonly string[];
  /** What /admin/targets says of the first provider. */
  readonly targets: readonly string[];
  readonly explanation: readonly string[];
}

interface Ready {
  readonly status?: string;
  readonly reasons?: readonly string[];
}

interface Status {
  readonly degraded?: readonly { readonly where: string; readonly reason: string; readonly cause?: string }[];
}

interface TargetView {
  readonly obstacle?: string;
  readonly calls: number;
  readonly failures: number;
  readonly first_byte_p95_ms?: number;
}

interface Targets {
  readonly targets?: readonly {
    readonly provider: string;
    readonly model: string;
    readonly proxies: readonly TargetView[];
  }[];
}

interface Explained {
  readonly outcome?: string;
  readonly targets?: readonly { readonly target: string; readonly says: string }[];
}

/** `userPath`: of the request that is explained. */
export async function look(world: World, userPath: string): Promise<Sight> {
  const { fleet } = world;
  const [proxy] = fleet.proxies;
  const { address } = fleet.controlPlane;
  const [readiness, status, targets, explained] = await Promise.all([
    readinessOf(world),
    read<Status>(`${address}/admin/status`),
    read<Targets>(`${address}/admin/targets`),
    read<Explained>(`${proxy?.url}/admin/explain?model=chat&user_path=${userPath}`),
  ]);
  const { degraded = [] } = status;
  const plain = plainIn(world);
  return {
    readiness: [...whoSays(readiness)].map(([says, who]) => `${who}: ${says}`),
    status: [
      ...whoSays(
        degraded.map(({ where, reason, cause }) => [where, `\`${reason}\`${cause ? `: ${plain(cause)}` : ''}`]),
      ),
    ].map(([says, who]) => `${who}: ${says}`),
    targets: targetsOf(targets),
    explanation: explanationOf(explained).map(plain),
  };
}

/** Whether every process is ready, and not degraded. */
export async function isWell(world: World): Promise<boolean> {
  return (await readinessOf(world)).every(([, says]) => says === 'ready');
}

async function readinessOf({ fleet }: World): Promise<(readonly [who: string, says: string])[]> {
  const places = [
    ['control-plane', fleet.controlPlane.address] as const,
    ...fleet.proxies.map(({ url }, index) => [`proxy-${index + 1}`, url] as const),
  ];
  return Promise.all(
    places.map(async ([who, origin]) => {
      const { status = 'no answer', reasons = [] } = await read<Ready>(`${origin}/health/ready`);
      return [who, [status, ...reasons.map((reason) => `\`${reason}\``)].join(' ')] as const;
    }),
  );
}

/** The sayings, each with all who say it. */
function whoSays(said: readonly (readonly [who: string, says: string])[]): Map<string, string> {
  const groups = Map.groupBy(said, ([, says]) => says);
  return new Map(
    [...groups].map(([says, each]) => [
      says,
      each
        .map(([who]) => who)
        .toSorted()
        .join(', '),
    ]),
  );
}

/** From so long on a first byte is told of. Milliseconds. */
const slowMs = 1_000;

/** The figures of the first proxy that has any; empty where the provider has no trouble. */
function targetsOf({ targets = [] }: Targets): string[] {
  const [first] = targets;
  const view = first?.proxies.find(({ calls }) => calls > 0) ?? first?.proxies[0];
  if (first === undefined || view === undefined) return [];
  const { obstacle, calls, failures, first_byte_p95_ms: p95 = 0 } = view;
  if (failures === 0 && obstacle === undefined && p95 < slowMs) return [];
  const words = [
    `${failures} of ${calls} calls of a minute failed`,
    ...(obstacle === undefined ? [] : [`\`${obstacle}\``]),
    ...(p95 < slowMs ? [] : [`one answer in twenty begins after ${Math.round(p95 / 1000)} s`]),
  ];
  return [`${first.provider}/${first.model}: ${words.join(', ')}`];
}

function explanationOf({ outcome, targets = [] }: Explained): string[] {
  const obstacles = targets.filter(({ says }) => says !== 'nothing stands in its way');
  return [...(outcome === undefined ? [] : [outcome]), ...obstacles.map(({ target, says }) => `${target}: ${says}`)];
}

/** The warnings and errors that a log has since then, each once, whatever its figures. Causes that `sight` has are not repeated. */
export function complaintsOf(world: World, sinceMs: number, { status }: Sight): string[] {
  const { controlPlane, proxies } = world.fleet;
  const processes = [
    ['control-plane', controlPlane] as const,
    ...proxies.map(({ process }) => ['proxy', process] as const),
  ];
  const plain = plainIn(world);
  const seen = new Map<string, string>();
  for (const [plane, own] of processes)
    for (const { time, level, msg, err } of own.logs()) {
      if (Date.parse(String(time)) < sinceMs || (level !== 'warn' && level !== 'error')) continue;
      const message = plain(String(msg));
      const cause = plain((err as Error | undefined)?.message ?? '');
      // How a connection ended is not the cause: the same server is away.
      const [stem = ''] = cause.split(' (');
      const isKnown = stem === '' || [message, ...status].some((text) => text.includes(stem));
      const kind = `${plane}: ${message.replaceAll(/\d+| \([^()]*\)$/g, '')}`;
      if (!seen.has(kind)) seen.set(kind, `${plane}: ${message}${isKnown ? '' : `: ${cause}`}`);
    }
  return [...seen.values()];
}

/** Texts without moments, and with the places that a real fleet has instead of those of this run. */
function plainIn({ fleet, disk }: World): (text: string) => string {
  const places: readonly (readonly [place: string | RegExp, usual: string])[] = [
    [`${fleet.home}/`, ''],
    ...(disk === undefined ? [] : [[disk, '/var/lib/gateway'] as const]),
    ...(fleet.redis === undefined ? [] : [[new URL(fleet.redis.url).host, '127.0.0.1:6379'] as const]),
    [/\/tmp\/gateway-postgres-\w+/g, '/var/run/postgresql'],
    [/\btest_\d+\b/g, 'gateway'],
    [/,? since \d{4}-\d\d-\d\dT[\d:.]+Z/g, ''],
  ];
  return (text) => places.reduce((done, [place, usual]) => done.replaceAll(place, usual), text);
}

/** Empty where nothing answers. */
async function read<Body>(url: string): Promise<Partial<Body>> {
  try {
    const headers = { authorization: `Bearer ${masterKey}` };
    return (await (await fetch(url, { headers, signal: AbortSignal.timeout(3_000) })).json()) as Body;
  } catch {
    return {};
  }
}
