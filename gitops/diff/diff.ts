// The differences between two assembled configurations, for `check-config --diff`, for the log and for the admin API. Pure.
import { isDeepStrictEqual } from 'node:util';
import { lossModes } from '../../domain/rules/on-store-loss.ts';
import type { AssembledConfig } from '../assemble/assembled.ts';
import { type ConfigChange, describeChange } from './config-change.ts';
import { diffBudgets } from './diff-budgets.ts';
import { diffGuardrails, diffKeys, diffRoutes } from './diff-entries.ts';
import { diffRules } from './diff-rules.ts';
import { effectOf, type Scale, type Scales } from './effects.ts';
import { flatten, sayMembers } from './members.ts';

/**
 * The changes of providers, aliases, rules, budgets, guardrails, keys and settings, in this order. Never the value of a key, a header or an address, nor
 * words that a guardrail looks for. More than `mostRules` rules that may differ are one change without details: 1,000 take about 15 ms.
 */
export function diffConfigs(
  before: AssembledConfig,
  after: AssembledConfig,
  mostRules: number = Number.POSITIVE_INFINITY,
): ConfigChange[] {
  return [
    ...diffRoutes(before, after),
    ...diffRules(before.rate_limits, after.rate_limits, mostRules),
    ...diffBudgets(before.budgets, after.budgets),
    ...diffGuardrails(before, after),
    ...diffKeys(before, after),
    ...diffSettings(before, after),
  ];
}

/** A secret may stand in the place of its file by mistake. */
const secretPlace = /^identities\..*\.sign_in\.client_secret(_file)?$/;

/** Every value that is not an entry of a list or a provider. */
function diffSettings(before: AssembledConfig, after: AssembledConfig): ConfigChange[] {
  const [old, present] = [settingsOf(before), settingsOf(after)];
  return [...new Set([...old.keys(), ...present.keys()])].sort().flatMap((name): ConfigChange[] => {
    const [from, to] = [old.get(name), present.get(name)];
    if (isDeepStrictEqual(from, to)) return [];
    if (secretPlace.test(name)) return [describeChange({ kind: 'setting', name, change: 'changed' }, '')];
    const sides = { ...(from === undefined ? {} : { before: from }), ...(to === undefined ? {} : { after: to }) };
    const scale = scales[name];
    const effect = scale === undefined ? undefined : effectOf({ [name]: scale }, old, present);
    const effects = effect === undefined ? {} : { effect };
    const [said = ''] = sayMembers(new Map([[name, from]]), new Map([[name, to]]), () => undefined);
    const detail = said.slice(name.length + 1);
    return [describeChange({ kind: 'setting', name, change: effect ?? 'changed', ...effects, ...sides }, detail)];
  });
}

/** Without the entries, and without what an assembled config has beside the document. */
function settingsOf({ rate_limits, budgets, ...declared }: AssembledConfig) {
  const { server, admin, usage, audit, cache, identities, rollout } = declared;
  const { user_paths: _paths, providers: _limits, models: _models, ...limits } = rate_limits;
  const { user_paths: _budgets, labels: _labels, ...windows } = budgets;
  const settings = { server, admin, usage, audit, cache, identities, rate_limits: limits, budgets: windows };
  return flatten({ ...settings, ...(rollout === undefined ? {} : { rollout }) });
}

const [moreRequests, moreBytes] = [
  { more: 'loosened', of: 'number' },
  { more: 'loosened', of: 'size' },
] as const satisfies Scale[];

/** Settings that bound what callers may do, see of each other, or do without a record of it. */
const scales: Scales = {
  'rate_limits.enabled': [false, true],
  'rate_limits.reserve_tokens': ['none', 'p50', 'p90', 'max'],
  'rate_limits.on_store_loss': lossModes,
  'rate_limits.scope': ['replica', 'fleet'],
  'budgets.enabled': [false, true],
  'budgets.unpriced': ['allow', 'refuse'],
  // An answer of the cache counts against no limit.
  'cache.enabled': [true, false],
  'cache.scope': ['gateway', 'user_path', 'key'],
  'cache.endpoints': { more: 'loosened', of: 'list' },
  'cache.only_deterministic': [false, true],
  'cache.without': { more: 'tightened', of: 'paths' },
  'cache.semantic.model': { more: 'loosened', of: 'presence' },
  'cache.semantic.threshold': { more: 'tightened', of: 'number' },
  'cache.semantic.with_system': [false, true],
  'audit.enabled': [false, true],
  // What a guardrail masks is recorded.
  'audit.original_bodies': [true, false],
  'audit.sample': { more: 'tightened', of: 'number' },
  'audit.without': { more: 'loosened', of: 'paths' },
  'server.cors.origins': { more: 'loosened', of: 'list' },
  'server.trusted_proxies': { more: 'loosened', of: 'list' },
  'server.enable_passthrough_routes': [true, false],
  'server.unknown_objects': ['allow', 'refuse'],
  'server.cut_revoked_streams': [false, true],
  'server.body_limit': moreBytes,
  'server.upload_limit': moreBytes,
  'server.realtime.frame_limit': moreBytes,
  'server.realtime.max_sessions': moreRequests,
  'server.max_connections_per_address': moreRequests,
  'admin.max_keys': moreRequests,
  'admin.max_keys_per_scope': moreRequests,
  'admin.max_rules_per_scope': moreRequests,
};
