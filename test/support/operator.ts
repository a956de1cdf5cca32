// The requests of an operator to a fleet: the admin API, the health of proxies, and how fast they follow.
import type { Response } from 'undici';
import { type RuleRow, usageOf } from './consumer.ts';
import type { Gateway, GatewayRequest } from './gateway.ts';
import { waitFor } from './wait-for.ts';

/** A way to the admin API: the control plane itself, or a proxy. */
export type AdminDoor = (path: string, init?: GatewayRequest) => Promise<Response>;

interface Administered {
  readonly admin: AdminDoor;
}

/** Every rule as the control plane lists it. */
export async function listRules({ admin }: Administered): Promise<readonly RuleRow[]> {
  const response = await admin('/admin/rate-limits');
  const text = await response.text();
  if (response.status !== 200) throw new Error(`the listing answered ${response.status}: ${text}`);
  return (JSON.parse(text) as { rate_limits: RuleRow[] }).rate_limits;
}

/** The caps of the manual rules, by subject. */
export async function manualCaps(fleet: Administered): Promise<Record<string, number | undefined>> {
  const manual = (await listRules(fleet)).filter(({ source }) => source === 'manual');
  return Object.fromEntries(manual.map((rule) => [rule.subject, rule.max_requests]));
}

/** How many writes the managed state has seen. */
export async function stateRevisionOf({ admin }: Administered): Promise<number> {
  const response = await admin('/admin/status');
  return ((await response.json()) as { desired: { state_revision: number } }).desired.state_revision;
}

/** The body of a write: so many requests a day for a path. */
export const dayRule = (userPath: string, cap: number): object => ({
  user_path: userPath,
  limit_key: { period: 'day' },
  max_requests: cap,
});

/** What the admin API of rate limits said, whatever it was. */
export interface AdminAnswer {
  readonly status: number;
  /** Of an error. */
  readonly code: string | undefined;
  readonly retryAfter: string | null;
  readonly etag: string | null;
  /** The listing was not read from the store. */
  readonly isStale: boolean;
  /** The listing; empty for an error. */
  readonly rules: readonly RuleRow[];
  readonly tookMs: number;
}

/** A request to `/admin/rate-limits` through a proxy. */
export async function askAdmin(through: Pick<Gateway, 'fetch'>, method = 'GET', body?: object): Promise<AdminAnswer> {
  const startedMs = performance.now();
  const response = await through.fetch('/admin/rate-limits', { method, ...(body === undefined ? {} : { body }) });
  const said = (await response.json()) as { code?: string; stale?: boolean; rate_limits?: RuleRow[] };
  return {
    status: response.status,
    code: said.code,
    retryAfter: response.headers.get('retry-after'),
    etag: response.headers.get('etag'),
    isStale: said.stale ?? false,
    rules: said.rate_limits ?? [],
    tookMs: performance.now() - startedMs,
  };
}

/** Every way to the admin API: the control plane itself, then each proxy. */
export function doorsOf({ admin, proxies }: Administered & { readonly proxies: readonly Gateway[] }): AdminDoor[] {
  return [
    admin,
    ...proxies.map(
      (proxy): AdminDoor =>
        (path, init) =>
          proxy.fetch(path, init),
    ),
  ];
}

export interface Readiness {
  readonly http: number;
  readonly status: string;
  readonly reasons: readonly string[];
}

export async function readinessOf(proxy: Pick<Gateway, 'fetch'>): Promise<Readiness> {
  const response = await proxy.fetch('/health/ready');
  return { http: response.status, ...((await response.json()) as { status: string; reasons: string[] }) };
}

/** Why a proxy is degraded; nothing when it is ready. Rejects when it is neither. */
export async function reasonsOf(proxy: Pick<Gateway, 'fetch'>): Promise<readonly string[]> {
  const { http, status, reasons } = await readinessOf(proxy);
  if (http !== 200 || (status === 'degraded') !== reasons.length > 0) throw new Error(`it is ${status}`);
  return reasons;
}

/** Until the proxies and the control plane are degraded for that reason, maybe among others. Gives the milliseconds it took. */
export async function untilDegraded(
  { proxies, admin }: Administered & { readonly proxies: readonly Gateway[] },
  reason = 'state_store_unavailable',
): Promise<number> {
  const startedMs = performance.now();
  await waitFor(`every plane to say ${reason}`, async () => {
    const { reasons } = (await (await admin('/health/ready')).json()) as Readiness;
    const given = [reasons, ...(await Promise.all(proxies.map(reasonsOf)))];
    return given.every((each) => each.includes(reason));
  });
  return performance.now() - startedMs;
}

/** How long it takes from now until each proxy satisfies the probe, in milliseconds; asked every few of them. */
export function delaysUntil(
  proxies: readonly Gateway[],
  what: string,
  probe: (proxy: Gateway) => Promise<boolean>,
): Promise<number[]> {
  const startedAtMs = performance.now();
  return Promise.all(
    proxies.map(async (proxy) => {
      await waitFor(what, () => probe(proxy));
      return performance.now() - startedAtMs;
    }),
  );
}

/** The cap that a proxy enforces for a path by a rule of exactly that path. */
export async function capOf(proxy: Gateway, path: string): Promise<number | undefined> {
  return (await usageOf(proxy, path)).find(({ subject }) => subject === path)?.max_requests;
}

/** How long it takes until each proxy enforces the cap by a rule of exactly that path, in milliseconds. */
export function delaysUntilCap(proxies: readonly Gateway[], path: string, cap: number): Promise<number[]> {
  return delaysUntil(proxies, `${path} to have cap ${cap}`, async (proxy) => (await capOf(proxy, path)) === cap);
}
