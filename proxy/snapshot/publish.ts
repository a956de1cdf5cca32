// Config and managed documents → what is in force: one frozen snapshot, and the rules the limiter is to keep to.

import { compileBudgets } from '../../domain/budgets/budget.ts';
import { mergeBudgets } from '../../domain/budgets/merge-budgets.ts';
import { type CacheResets, cacheResets } from '../../domain/cache/cache-reset.ts';
import {
  endedSessions,
  type ManagedDocuments,
  managedCacheResets,
  managedKeys,
  manualAliases,
  manualBudgets,
  manualGuardrails,
  manualRules,
  readManaged,
  resets,
} from '../../domain/documents/kinds.ts';
import { type Credentials, credentialsOf } from '../../domain/keys/credentials.ts';
import { endedByOwner } from '../../domain/keys/ended-sessions.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { mergeRules, nextExpiryMs } from '../../domain/rules/merge.ts';
import { resetEpochs } from '../../domain/rules/reset-epochs.ts';
import { compileRules, type Rule } from '../../domain/rules/rule.ts';
import { type RuleProblem, unenforcedProblems } from '../../domain/rules/unenforced.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import type { StandingRules } from '../../plane/expired-rules.ts';
import type { StateOrigin } from '../../store/state/state-status.ts';
import type { StoredState } from '../../store/state/state-store.ts';
import { BudgetCover } from '../budgets/budget-cover.ts';
import type { Enforcement } from '../limits/enforcement.ts';
import { ProviderKeys } from '../upstream/api-keys.ts';
import { withDocuments } from './compile.ts';
import { type CompileSettings, compileManaged, type LoadedConfig, type Standing } from './compile-managed.ts';
import type { InForce } from './in-force.ts';
import type { Snapshot } from './snapshot.ts';

export interface PublishOptions {
  readonly masterKey: string | undefined;
  /** Per-child templates are entitled. */
  readonly hasTemplates: boolean;
  /** Tokens are counted. */
  readonly usageEnabled: boolean;
  /** What is remembered of the keys of providers; by default nothing yet. */
  readonly providerKeys?: ProviderKeys;
  /** What providers without a list of models say they have; by default nothing. */
  readonly modelsOf?: CompileSettings['modelsOf'];
  /** Puts both in force, in one go. */
  readonly put: (snapshot: Snapshot, rules: readonly Rule[], enforcement: Required<Enforcement>) => void;
  /** Something was left out, or is not enforced; a sentence each. Called when that changes. */
  readonly warn: (problems: readonly RuleProblem[]) => void;
  /** Called at each publication, and when a manual rule ends. */
  readonly tellExpired: (rules: StandingRules, nowMs: number) => void;
  /** The time by which rules of operators end. Whole Unix milliseconds. */
  readonly nowMs: () => number;
}

export interface Publisher {
  /** A config was found good; throws what `put` throws. */
  config(config: AssembledConfig, revision: string): void;
  /** Providers say that they have other models. */
  models(): void;
  /** The managed documents changed; with the source `nothing` they could not be read yet. */
  documents(state: Pick<StoredState, 'documents' | 'kinds' | 'storeId'>, origin: StateOrigin): void;
  /** Another master key lets in from now on, and the one before no longer. */
  renewMasterKey(masterKey: string | undefined): void;
  /** What was put in force last, as it is written. Throws before there is anything. */
  inForce(): InForce;
}

/** While rules have an end, the clock is looked at this often: it may be set. Milliseconds. */
const longestWaitMs = 500;

/** Nothing is put in force before there is a config. */
export function createPublisher(options: PublishOptions): Publisher {
  const { hasTemplates, usageEnabled, put, warn, tellExpired, nowMs } = options;
  const { providerKeys = new ProviderKeys(), modelsOf = () => [] } = options;
  let loaded: LoadedConfig | undefined;
  let standing: Standing | undefined;
  let snapshot: Snapshot | undefined;
  let managed = readManaged([]);
  const resetsOfCache = (): CacheResets => cacheResets(managed.of(managedCacheResets));
  let masterKeyDigest = digestOfKey(options.masterKey);
  let credentials: Credentials = credentialsOf(masterKeyDigest, []);
  const credentialsNow = (isComplete: boolean): Credentials =>
    credentialsOf(masterKeyDigest, managed.of(managedKeys), isComplete, endedByOwner(managed.of(endedSessions)));
  let keysRevision = '';
  let entriesRevision = '';
  let inForce: InForce | undefined;
  const expiry = new Expiry(nowMs, republish);
  const tell = whenChanged(warn);

  function publish(compiled: Snapshot, { rules, prerequisites, maxChildren, problems, ...written }: Standing): void {
    const now = nowMs();
    const manual = managed.of(manualRules);
    const epochs = resetEpochs(managed.of(resets));
    const merged = mergeRules({ config: rules, manual, epochs, nowMs: now, prerequisites });
    // Also while rate limits are switched off: their counters are kept for as long as their windows.
    const counted = merged.filter((rule) => rule.counted);
    const next = Object.freeze({ ...compiled, budgeted: budgetedBy(written.config, managed, options, now) });
    put(next, counted, { isEnforced: prerequisites.enabled, maxChildren });
    inForce = { ...written, rules: merged, prerequisites };
    const unreadable = managed.problems.map((text): RuleProblem => ({ level: 'error', text }));
    tell([...unreadable, ...problems, ...unenforcedProblems(merged, prerequisites)]);
    tellExpired({ manual, config: rules, prerequisites }, now);
    expiry.await(nextExpiryMs(manual, now));
  }

  /** Puts a config in force with the aliases and guardrails of operators. */
  function compileAndPublish(next: LoadedConfig): void {
    const settings = { hasTemplates, usageEnabled, providerKeys, modelsOf, resetsOfCache: resetsOfCache() };
    const compiled = compileManaged(next, managed, credentials, settings);
    publish(compiled.snapshot, compiled.standing);
    ({ snapshot, standing } = compiled);
    loaded = next;
  }

  /** The config in force with other keys and resets. */
  function republish(): void {
    if (snapshot === undefined || standing === undefined) return;
    snapshot = withDocuments(snapshot, credentials, resetsOfCache());
    publish(snapshot, standing);
  }

  return {
    config(next, revision) {
      compileAndPublish({ config: next, revision, rules: compileRules(next.rate_limits) });
    },
    documents({ documents, kinds, storeId }, { source, outages }) {
      managed = readManaged(documents);
      // Connections remember what these credentials said of their key: others only when some key or session has changed.
      const isKnown = source !== 'nothing';
      const revision = `${isKnown} ${outages} ${storeId} ${revisionsOf(kinds, [managedKeys, endedSessions])}`;
      if (revision !== keysRevision) credentials = credentialsNow(isKnown);
      keysRevision = revision;
      const before = entriesRevision;
      entriesRevision = `${outages} ${storeId} ${revisionsOf(kinds, [manualAliases, manualGuardrails])}`;
      if (before !== entriesRevision && loaded !== undefined) compileAndPublish(loaded);
      else republish();
    },
    models() {
      if (loaded !== undefined) compileAndPublish(loaded);
    },
    renewMasterKey(masterKey) {
      masterKeyDigest = digestOfKey(masterKey);
      credentials = credentialsNow(credentials.isComplete);
      // The next documents may be others under the same revision: their seals are checked again.
      keysRevision = '';
      entriesRevision = '';
      republish();
    },
    inForce: () => published(inForce),
  };
}

/** Changes with the documents of these kinds. */
function revisionsOf(kinds: StoredState['kinds'], managed: readonly { readonly kind: string }[]): string {
  return managed.map(({ kind }) => kinds.get(kind) ?? 0).join();
}

/** Calls back at a time, by the clock as it is then. */
class Expiry {
  readonly #nowMs: () => number;
  readonly #over: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(nowMs: () => number, over: () => void) {
    this.#nowMs = nowMs;
    this.#over = over;
  }

  /** In the place of the time before; undefined: never. */
  await(atMs: number | undefined): void {
    clearTimeout(this.#timer);
    if (atMs === undefined) return;
    const waitMs = Math.min(Math.max(atMs - this.#nowMs(), 1), longestWaitMs);
    this.#timer = setTimeout(() => (this.#nowMs() < atMs ? this.await(atMs) : this.#over()), waitMs).unref();
  }
}

/** Undefined: models without a price may be asked by all. */
function budgetedBy(
  { budgets }: AssembledConfig,
  managed: Pick<ManagedDocuments, 'of'>,
  { hasTemplates, usageEnabled }: Pick<PublishOptions, 'hasTemplates' | 'usageEnabled'>,
  nowMs: number,
): BudgetCover | undefined {
  if (budgets.unpriced === 'allow') return undefined;
  const { enabled } = budgets;
  const prerequisites = { enabled, hasTemplates, usageEnabled };
  const [config, manual] = [compileBudgets(budgets), managed.of(manualBudgets)];
  return new BudgetCover(mergeBudgets({ config, manual, resets: [], nowMs, prerequisites }));
}

function published(inForce: InForce | undefined): InForce {
  if (inForce === undefined) throw new Error('no config was published yet');
  return inForce;
}

function digestOfKey(masterKey: string | undefined): string | undefined {
  return masterKey === undefined ? undefined : digestOf(masterKey);
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
