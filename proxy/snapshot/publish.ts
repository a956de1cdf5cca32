// Config and managed documents → what is in force: one frozen snapshot, and the limits to keep to.
import { isDeepStrictEqual } from 'node:util';
import { type CacheResets, cacheResets } from '../../domain/cache/cache-reset.ts';
import {
  endedSessions,
  type ManagedDocuments,
  managedCacheResets,
  managedKeys,
  manualAliases,
  manualGuardrails,
  readManaged,
  targetDrains,
} from '../../domain/documents/kinds.ts';
import type { ManagedKind } from '../../domain/documents/managed-kind.ts';
import { byId } from '../../domain/documents/order.ts';
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { configKeys } from '../../domain/keys/config-key.ts';
import { type Credentials, credentialsOf } from '../../domain/keys/credentials.ts';
import { endedByOwner } from '../../domain/keys/ended-sessions.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { compileRules, type Rule } from '../../domain/rules/rule.ts';
import type { RuleProblem } from '../../domain/rules/unenforced.ts';
import { differences } from '../../domain/sorted-list.ts';
import { standingDrains, type TargetDrains } from '../../domain/targets/target-drain.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import { CallAt, longestWaitMs } from '../../plane/call-at.ts';
import type { StandingRules } from '../../plane/expired-rules.ts';
import type { StateOrigin } from '../../store/state/state-status.ts';
import type { StoredState } from '../../store/state/state-store.ts';
import type { BudgetsToKeep } from '../budgets/ledgers.ts';
import type { Enforcement } from '../limits/enforcement.ts';
import { ProviderKeys } from '../upstream/api-keys.ts';
import { withDocuments } from './compile.ts';
import { type CompileSettings, compileManaged, type LoadedConfig, type Standing } from './compile-managed.ts';
import type { InForce } from './in-force.ts';
import { LimitsToKeep } from './limits-to-keep.ts';
import type { Snapshot } from './snapshot.ts';

/** The parts that are put in force together. */
export interface Publication {
  readonly snapshot: Snapshot;
  readonly rules: readonly Rule[];
  readonly enforcement: Required<Enforcement>;
  readonly budgets: BudgetsToKeep;
  /** The targets that operators have taken out. */
  readonly drains: TargetDrains;
}

export interface PublishOptions {
  readonly masterKey: string | undefined;
  /** Per-child templates are entitled. */
  readonly hasTemplates: boolean;
  /** Tokens are counted. */
  readonly usageEnabled: boolean;
  /** Where caps hold, when the config does not say it; default: in each proxy. */
  readonly scope?: 'fleet' | 'replica';
  /** The state of the keys of providers; default: none. */
  readonly providerKeys?: ProviderKeys;
  /** The models that providers without a list of models reported; default: none. */
  readonly modelsOf?: CompileSettings['modelsOf'];
  /** Puts it in force everywhere, or throws and changes nothing. */
  readonly put: (next: Publication) => void;
  /** Something was left out, or is not enforced; a sentence each. Called when that changes. */
  readonly warn: (problems: readonly RuleProblem[]) => void;
  /** Called at each publication, and when what an operator has set ends. */
  readonly tellExpired: (rules: StandingRules, nowMs: number) => void;
  /** The time by which rules of operators end. Whole Unix milliseconds. */
  readonly nowMs: () => number;
}

/** When a method throws, what was in force before stays in force, all of it. */
export interface Publisher {
  /** A config was found good; throws what `put` throws. */
  config(config: AssembledConfig, revision: string): void;
  /** Providers say that they have other models. */
  models(): void;
  /** The managed documents changed; with the source `nothing` they could not be read yet. */
  documents(state: Pick<StoredState, 'documents'>, origin: StateOrigin): void;
  /** Another master key lets in from now on, and the one before no longer. */
  renewMasterKey(masterKey: string | undefined): void;
  /** The configuration in force as it is written. Throws before there is any. */
  inForce(): InForce;
}

/** All that a publication is made of. Replaced as a whole, once the next one is in force. */
interface Sources {
  /** Undefined before there is a config; then nothing is put in force. */
  readonly loaded: LoadedConfig | undefined;
  /** The config with the aliases and guardrails of operators. */
  readonly compiled: { readonly snapshot: Snapshot; readonly standing: Standing } | undefined;
  readonly documents: StoredState['documents'];
  /** Of these documents. */
  readonly managed: ManagedDocuments;
  readonly masterKeyDigest: string | undefined;
  readonly credentials: Credentials;
  /** Those of the credentials that the config declares. */
  readonly configKeys: readonly AuthKey[];
  readonly inForce: InForce | undefined;
}

/** Nothing is put in force before there is a config. */
export function createPublisher(options: PublishOptions): Publisher {
  const { hasTemplates, usageEnabled, put, warn, tellExpired, nowMs } = options;
  const { providerKeys = new ProviderKeys(), modelsOf = () => [] } = options;
  const settings = { hasTemplates, usageEnabled, providerKeys, modelsOf };
  const limits = new LimitsToKeep({ hasTemplates, usageEnabled, scope: options.scope ?? 'replica' });
  const tell = whenChanged(warn);
  const expiry = new CallAt(nowMs, endExpired);
  let sources = initialSources(options.masterKey);

  function publish(next: Sources): void {
    if (next.compiled === undefined) {
      sources = next;
      return;
    }
    const { compiled, managed, documents } = next;
    const { standing } = compiled;
    const { config, aliases, prerequisites } = standing;
    const now = nowMs();
    const kept = limits.at({ standing, documents, managed, nowMs: now });
    const { budgets, budgeted, rules, enforcement } = kept;
    const drains = standingDrains(managed.of(targetDrains), now);
    const snapshot = Object.freeze({ ...compiled.snapshot, budgeted });
    put({ snapshot, budgets, rules, enforcement, drains: drains.inForce });
    sources = { ...next, inForce: { config, aliases, rules: kept.merged, prerequisites } };
    const unreadable = managed.problems.map((text): RuleProblem => ({ level: 'error', text }));
    tell([...unreadable, ...standing.problems, ...kept.problems]);
    tellExpired({ manual: kept.ended, config: standing.rules, prerequisites, drains: drains.ended }, now);
    expiry.await(earliest(kept.nextEndMs, drains.nextEndMs));
  }

  function endExpired(): void {
    try {
      publish(refreshed(sources));
    } catch (error) {
      const text = `rules or drains that have ended are still in force, and this is tried again: ${String(error)}`;
      tell([{ level: 'error', text }]);
      expiry.await(nowMs() + longestWaitMs);
    }
  }

  return {
    config(next, revision) {
      const loaded = { config: next, revision, rules: compileRules(next.rate_limits) };
      publish(recompiled({ ...sources, loaded, ...keysAfter(sources, next) }, settings));
    },
    documents({ documents }, { source }) {
      const managed = readManaged(documents, sources.managed);
      const areSame = (...kinds: readonly ManagedKind<unknown>[]): boolean =>
        kinds.every((kind) => managed.of(kind) === sources.managed.of(kind));
      const credentials = credentialsAfter(sources, managed, source !== 'nothing');
      const next = { ...sources, documents, managed, credentials };
      publish(areSame(manualAliases, manualGuardrails) ? refreshed(next) : recompiled(next, settings));
    },
    models() {
      publish(recompiled(sources, settings));
    },
    renewMasterKey(masterKey) {
      const masterKeyDigest = digestOfKey(masterKey);
      const { keys, isComplete, endedSessions: ended } = sources.credentials;
      const credentials = credentialsOf(masterKeyDigest, keys, isComplete, ended);
      publish(refreshed({ ...sources, masterKeyDigest, credentials }));
    },
    inForce() {
      if (sources.inForce === undefined) throw new Error('no config was published yet');
      return sources.inForce;
    },
  };
}

/** Compiles the config with the aliases and guardrails of operators. */
function recompiled(sources: Sources, settings: Omit<CompileSettings, 'resetsOfCache'>): Sources {
  const { loaded, managed, credentials } = sources;
  if (loaded === undefined) return sources;
  const resetsOfCache = resetsIn(managed);
  return { ...sources, compiled: compileManaged(loaded, managed, credentials, { ...settings, resetsOfCache }) };
}

/** Takes other keys and resets into the compiled config. */
function refreshed(sources: Sources): Sources {
  const { compiled, managed, credentials } = sources;
  if (compiled === undefined) return sources;
  const snapshot = withDocuments(compiled.snapshot, credentials, resetsIn(managed));
  return { ...sources, compiled: { ...compiled, snapshot } };
}

function initialSources(masterKey: string | undefined): Sources {
  const masterKeyDigest = digestOfKey(masterKey);
  return {
    loaded: undefined,
    compiled: undefined,
    documents: [],
    managed: readManaged([]),
    masterKeyDigest,
    credentials: credentialsOf(masterKeyDigest, []),
    configKeys: [],
    inForce: undefined,
  };
}

function resetsIn(managed: ManagedDocuments): CacheResets {
  return cacheResets(managed.of(managedCacheResets));
}

/** Connections remember what credentials said of their key: they are others only when some key or session has changed. */
function credentialsAfter(before: Sources, managed: ManagedDocuments, isComplete: boolean): Credentials {
  const { credentials, masterKeyDigest } = before;
  const [keysBefore, endedBefore] = [before.managed.of(managedKeys), before.managed.of(endedSessions)];
  const [keys, ended] = [managed.of(managedKeys), managed.of(endedSessions)];
  if (keys === keysBefore && ended === endedBefore && isComplete === credentials.isComplete) return credentials;
  const changed = credentials.keys.changed(differences(keysBefore, keys, byId));
  return credentialsOf(masterKeyDigest, changed, isComplete, endedByOwner(ended));
}

/** The same ones when the config declares the same keys, see `credentialsAfter`. */
function keysAfter(before: Sources, { keys }: AssembledConfig): Pick<Sources, 'credentials' | 'configKeys'> {
  const { credentials, configKeys: gone, loaded } = before;
  if (isDeepStrictEqual(loaded?.config.keys ?? [], keys)) return { credentials, configKeys: gone };
  const { masterKeyDigest, isComplete, endedSessions: ended } = credentials;
  const come = configKeys(keys);
  const changed = credentials.keys.changed({ gone, come });
  return { credentials: credentialsOf(masterKeyDigest, changed, isComplete, ended), configKeys: come };
}

function digestOfKey(masterKey: string | undefined): string | undefined {
  return masterKey === undefined ? undefined : digestOf(masterKey);
}

function earliest(...moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((atMs) => atMs !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Tells the same problems once. */
function whenChanged(warn: PublishOptions['warn']): PublishOptions['warn'] {
  let said = '';
  return (problems) => {
    const now = problems.map(({ text }) => text).join();
    if (now !== said) warn(problems);
    said = now;
  };
}
