// A config that one part of a process cannot keep to is in force nowhere, is told of as rejected, and does not hold up the next one.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { ConfigInForce } from '../../control-plane/config-in-force.ts';
import { DocumentsInForce } from '../../control-plane/documents-in-force.ts';
import { keepDeclaredDates } from '../../control-plane/managed/declared-dates.ts';
import { configParts, documentParts } from '../../control-plane/parts-in-force.ts';
import { manualAliasBody, manualAliasKind } from '../../domain/aliases/manual-alias.ts';
import { managedKinds } from '../../domain/documents/kinds.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { FollowStatus } from '../../gitops/follow/config-status.ts';
import type { FollowOptions } from '../../gitops/follow/follow-options.ts';
import { logConfigEvent } from '../../plane/log-events.ts';
import { type PartInForce, putInForce } from '../../plane/put-in-force.ts';
import { Lifecycle } from '../../proxy/boot/lifecycle.ts';
import { partsInForce } from '../../proxy/boot/parts-in-force.ts';
import { Ledgers } from '../../proxy/budgets/ledgers.ts';
import { Discovery } from '../../proxy/discovery/discovery.ts';
import { createLimiter } from '../../proxy/limits/limiter.ts';
import { createCurrent } from '../../proxy/snapshot/current.ts';
import { createPublisher, type Publication } from '../../proxy/snapshot/publish.ts';
import type { Snapshot } from '../../proxy/snapshot/snapshot.ts';
import { TargetStates } from '../../proxy/targets/target-states.ts';
import { ProviderKeys } from '../../proxy/upstream/api-keys.ts';
import { createPools } from '../../proxy/upstream/pools.ts';
import { folder, start } from '../gitops/following.ts';
import { cacheOf, metricsOf, nowMs } from '../proxy/stage-parts.ts';

/** Differs from one version to the next, and from an odd one to the next odd one. */
const isOn = (version: number): boolean => Math.floor(version / 2) % 2 === 0;

/** A config in which everything depends on the number: names, addresses, caps, what is switched on. */
const configOf = (version: number): string => `
server: { keep_alive: ${60 + version}s }
providers:
  listed${version}: { type: openai, base_url: 'http://127.0.0.${version}:9/v1', api_key: key${version}, models: [m] }
  asked${version}: { type: openai, base_url: 'http://127.0.0.${version}:8/v1', api_key: key${version} }
aliases: [{ source: alias${version}, target: listed${version}/m }]
cache: { enabled: ${isOn(version)} }
rate_limits:
  enabled: ${isOn(version)}
  user_paths: [{ path: /team${version}, limits: [{ period: minute, max_requests: ${version} }] }]
`;

/** The list with a part that cannot prepare while a place is set. */
function breakable<Next>(parts: readonly PartInForce<Next>[]) {
  const broken: { place: number | undefined } = { place: undefined };
  const list = parts.map(({ name, prepare }, place): PartInForce<Next> => {
    return {
      name,
      prepare(next) {
        if (place === broken.place) throw new Error('no room');
        return prepare(next);
      },
    };
  });
  return { list, broken };
}

/** Follows a directory of configs; each is in force or rejected once `write` resolves. */
async function follow(t: Test, more: Pick<FollowOptions, 'apply' | 'variables'>) {
  const lines: string[] = [];
  const note = (fields: object | string, text?: string): void =>
    void lines.push(text ?? (typeof fields === 'string' ? fields : JSON.stringify(fields)));
  const directory = folder(t, { 'gateway.yaml': configOf(1) });
  const { follower } = await start(t, directory, {
    ...more,
    report: (event) => logConfigEvent({ info: note, warn: note, error: note }, event),
  });
  return {
    lines,
    status: (): FollowStatus => follower.status(),
    async write(version: number): Promise<void> {
      writeFileSync(join(directory, 'gateway.yaml'), configOf(version));
      await follower.reload();
    },
  };
}

interface Plane {
  readonly write: (version: number) => Promise<void>;
  readonly lines: readonly string[];
  readonly broken: { place: number | undefined };
  /** What is in force, part by part. */
  readonly seen: () => Promise<object>;
  readonly expected: (version: number) => object;
}

/** Lets each part fail in turn. */
async function failInTurn(t: Test, names: readonly string[], plane: Plane): Promise<void> {
  const { write, lines, broken, seen, expected } = plane;
  t.match(await seen(), expected(1));
  let version = 1;
  for (const [place, name] of names.entries()) {
    broken.place = place;
    await write(version + 1);
    t.match(
      await seen(),
      { ...expected(version), isGood: false, isSamePool: true },
      `${name} fails: everything of the old config`,
    );
    t.match(lines.at(-2), `the configuration could not be put in force: ${name}: no room`);
    t.equal(lines.at(-1), 'config rejected');
    broken.place = undefined;
    version += 2;
    await write(version);
    t.match(await seen(), expected(version), `behind ${name}: everything of the next config`);
    t.equal(lines.at(-1), 'config applied');
  }
}

await test('a proxy: each part in turn cannot keep to a config', async (t) => {
  const current = createCurrent();
  const limiter = createLimiter();
  const targets = new TargetStates();
  const pools = createPools(100);
  const cache = cacheOf();
  t.teardown(() => cache.close());
  const lifecycle = new Lifecycle({ startedAtMs: 0, environment: '' }, console);
  const discovery = new Discovery({
    recalled: new Map(),
    ask: async () => ({ trouble: 'it is away' }),
    save: () => undefined,
    changed: () => undefined,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    nowMs,
  });
  t.teardown(() => discovery.close());
  let status: FollowStatus | undefined;
  const observed = metricsOf(limiter, targets, () => status);
  const providerKeys = new ProviderKeys();
  const applied: Pick<Snapshot, 'timeouts'>[] = [];
  const { list, broken } = breakable<Publication>(
    partsInForce({
      cache,
      pools,
      controlPlane: { origin: 'http://127.0.0.1:1', connectTimeoutMs: 300 },
      providerKeys,
      ledgers: new Ledgers(),
      nowMs,
      discovery,
      probes: { keep: () => undefined },
      server: { prepare: (snapshot) => () => void applied.push(snapshot) },
      observed,
      targets,
      limiter,
      limitLink: { follow: () => undefined },
      current,
      lifecycle,
    }),
  );
  const publisher = createPublisher({
    masterKey: undefined,
    hasTemplates: false,
    usageEnabled: true,
    providerKeys,
    put: (next) => putInForce(list, next),
    warn: () => undefined,
    tellExpired: () => undefined,
    nowMs: () => 0,
  });
  const following = await follow(t, { variables: 'expand', apply: (...loaded) => publisher.config(...loaded) });
  let [first] = current.get().upstreams;
  let pool = first && pools.get(first);
  await failInTurn(
    t,
    list.map(({ name }) => name),
    {
      ...following,
      broken,
      async write(version) {
        [first] = current.get().upstreams;
        pool = first && pools.get(first);
        await following.write(version);
      },
      async seen() {
        status = following.status();
        const text = await observed.text();
        const { upstreams, routes, revision } = current.get();
        const [upstream] = upstreams;
        const given = upstream?.credentials.all ?? [];
        return {
          isGood: text.includes('\ngateway_config_last_reload_successful 1\n'),
          revision: revision === status.revision,
          cached: cache.engine !== undefined,
          isSamePool: upstream !== undefined && upstream === first && pools.get(upstream) === pool,
          remembersKeys: providerKeys.of(upstream?.name ?? '', given).remembered[0] === given[0]?.state,
          asked: discovery.known().map(({ provider }) => provider),
          keepAliveMs: applied.at(-1)?.timeouts.keepAliveMs,
          providers: [
            ...new Set([...text.matchAll(/attempts_total\{provider="(listed\d+)"/g)].map(([, name]) => name)),
          ],
          targets: [...targets.known()].map(({ provider }) => provider),
          caps: limiter.rules().map(({ maxRequests }) => maxRequests),
          names: [...routes.keys()].filter((name) => name.startsWith('alias')),
          isEnforcing: lifecycle.isEnforcing,
          written: publisher.inForce().config.aliases.map(({ source }) => source),
        };
      },
      expected: (version) => ({
        isGood: true,
        revision: true,
        cached: isOn(version),
        remembersKeys: true,
        asked: [`asked${version}`],
        keepAliveMs: (60 + version) * 1_000,
        providers: [`listed${version}`],
        targets: [`listed${version}`],
        caps: isOn(version) ? [version] : [],
        names: [`alias${version}`],
        isEnforcing: isOn(version),
        written: [`alias${version}`],
      }),
    },
  );
});

await test('a control plane: each part in turn cannot keep to a configuration', async (t) => {
  const config = new ConfigInForce({ hasTemplates: false, usageEnabled: true });
  const dates = await keepDeclaredDates(join(folder(t), 'dates.json'), () => undefined);
  const changes: string[] = [];
  const parts = {
    config,
    managed: new DocumentsInForce(undefined),
    tokenKeys: { prepare: () => () => undefined },
    budgets: { changed: () => void changes.push('budgets') },
    secure: { prepare: () => () => undefined },
    warnUnenforced: () => undefined,
    nowMs: () => 0,
  };
  const { list, broken } = breakable(configParts(parts, dates));
  const following = await follow(t, { variables: 'keep', apply: (declared) => putInForce(list, declared) });
  await failInTurn(
    t,
    list.map(({ name }) => name),
    {
      ...following,
      broken,
      seen: async () => ({
        isGood: following.status().lastReloadSuccessful,
        isSamePool: true,
        rules: config.rules.map(({ maxRequests }) => maxRequests),
        dated: [...dates.current().keys()].map((key) => /team\d+/.exec(key)?.[0]),
        providers: Object.keys(config.declared.providers),
        aliases: config.declared.aliases.map(({ source }) => source),
        cached: config.declared.cache.enabled,
        isEnforced: config.prerequisites().enabled,
        changes: changes.length,
      }),
      expected: (version) => ({
        isGood: true,
        rules: [version],
        dated: [`team${version}`],
        providers: [`listed${version}`, `asked${version}`],
        aliases: [`alias${version}`],
        cached: isOn(version),
        isEnforced: isOn(version),
        changes: (version + 1) / 2,
      }),
    },
  );
});

await test('a control plane: documents that one part cannot keep to are in force nowhere', async (t) => {
  const config = new ConfigInForce({ hasTemplates: false, usageEnabled: true });
  const managed = new DocumentsInForce(undefined);
  const changes: string[] = [];
  const parts = {
    config,
    managed,
    tokenKeys: { prepare: () => () => undefined },
    budgets: { changed: () => void changes.push('budgets') },
    secure: { prepare: () => () => undefined },
    warnUnenforced: () => undefined,
    nowMs: () => 0,
  };
  await follow(t, { variables: 'keep', apply: (declared) => config.prepare(declared)() });
  const written = timestamp(0);
  const documentsOf = (source: string) => {
    const alias = { source, targets: [{ model: 'listed1/m', weight: 1 }], strategy: 'failover' as const };
    const entry = {
      key: source,
      value: { enabled: true, hedge: false, ...alias },
      createdAt: written,
      updatedAt: written,
    };
    const body = manualAliasBody({ ...entry, updatedBy: 'master_key' });
    const changed = new Set(managedKinds.map(({ kind }) => kind));
    return { documents: [{ kind: manualAliasKind, id: source, revision: 1, body }], changed, isComplete: true };
  };
  const { list, broken } = breakable(documentParts(parts, () => void changes.push('paths')));
  const seen = () => [
    managed.documents.map(({ id }) => id),
    [...config.known.aliases].includes('old'),
    [...config.known.aliases].includes('new'),
    changes.length,
  ];
  putInForce(list, documentsOf('old'));
  t.same(seen(), [['old'], true, false, 2]);
  for (const [place, { name }] of list.entries()) {
    broken.place = place;
    t.throws(() => putInForce(list, documentsOf('new')), new Error(`${name}: no room`));
    t.same(seen(), [['old'], true, false, 2], name);
  }
  broken.place = undefined;
  putInForce(list, documentsOf('new'));
  t.same(seen(), [['new'], false, true, 4]);
});
