// Config and managed documents → what is in force: one frozen snapshot, and the rules the limiter is to keep to.
import type { AssembledConfig } from '../../gitops/assembled.ts';
import type { StandingRules } from '../../plane/expired-rules.ts';
import { managedKeys, manualRules, readManaged, resets } from '../../schemas/documents/kinds.ts';
import { type Credentials, credentialsOf } from '../../schemas/keys/credentials.ts';
import { digestOf } from '../../schemas/keys/secret.ts';
import { knownModels } from '../../schemas/rules/known-models.ts';
import { mergeRules, nextExpiryMs } from '../../schemas/rules/merge.ts';
import type { RulePrerequisites } from '../../schemas/rules/obstacle.ts';
import { resetEpochs } from '../../schemas/rules/reset-epochs.ts';
import { compileRules, type Rule } from '../../schemas/rules/rule.ts';
import { type RuleProblem, unenforcedProblems } from '../../schemas/rules/unenforced.ts';
import type { StateOrigin } from '../../store/state/state-status.ts';
import type { StoredState } from '../../store/state/state-store.ts';
import type { Enforcement } from '../limits/enforcement.ts';
import { ProviderKeys } from '../upstream/api-keys.ts';
import { compile, withCredentials } from './compile.ts';
import type { Snapshot } from './snapshot.ts';

export interface PublishOptions {
  readonly masterKey: string | undefined;
  /** Per-child templates are entitled. */
  readonly hasTemplates: boolean;
  /** Tokens are counted. */
  readonly usageEnabled: boolean;
  /** What is remembered of the keys of providers; by default nothing yet. */
  readonly providerKeys?: ProviderKeys;
  /** Puts both in force, in one go. */
  readonly put: (snapshot: Snapshot, rules: readonly Rule[], enforcement: Required<Enforcement>) => void;
  /** Something was left out, or is not enforced; a sentence each. Called when that changes. */
  readonly warn: (problems: readonly RuleProblem[]) => void;
  /** Called at each publication, and when a manual rule ends. */
  readonly tellExpired: (rules: StandingRules, nowMs: number) => void;
  /** Whole milliseconds. */
  readonly nowMs: () => number;
}

export interface Publisher {
  /** A config was found good; throws what `put` throws. */
  config(config: AssembledConfig, revision: string): void;
  /** The managed documents changed; with the source `nothing` they could not be read yet. */
  documents(state: Pick<StoredState, 'documents' | 'kinds' | 'storeId'>, origin: StateOrigin): void;
  /** Another master key lets in from now on, and the one before no longer. */
  renewMasterKey(masterKey: string | undefined): void;
}

/** The expiry of rules is checked at least this often: a timer cannot be longer. Milliseconds. */
const longestWaitMs = 3_600_000;

/** Nothing is put in force before there is a config. */
export function createPublisher(options: PublishOptions): Publisher {
  const { hasTemplates, usageEnabled, put, warn, tellExpired, nowMs } = options;
  const { providerKeys = new ProviderKeys() } = options;
  let config: { rules: readonly Rule[]; prerequisites: RulePrerequisites; maxChildren: number } | undefined;
  let snapshot: Snapshot | undefined;
  let managed = readManaged([]);
  let masterKeyDigest = digestOfKey(options.masterKey);
  let credentials: Credentials = credentialsOf(masterKeyDigest, []);
  let keysRevision = '';
  let expiry: NodeJS.Timeout | undefined;
  let said = '';

  function publish(next: Snapshot, { rules, prerequisites, maxChildren }: NonNullable<typeof config>): void {
    const now = nowMs();
    const manual = managed.of(manualRules);
    const epochs = resetEpochs(managed.of(resets));
    const merged = mergeRules({ config: rules, manual, epochs, nowMs: now, prerequisites });
    // Also while rate limits are switched off: their counters are kept for as long as their windows.
    const counted = merged.filter((rule) => rule.counted);
    put(next, counted, { isEnforced: prerequisites.enabled, maxChildren });
    tell(unenforcedProblems(merged, prerequisites));
    tellExpired({ manual, config: rules, prerequisites }, now);
    clearTimeout(expiry);
    const nextMs = nextExpiryMs(manual, now);
    if (nextMs === undefined) return;
    const again = (): void => {
      if (snapshot !== undefined && config !== undefined) publish(snapshot, config);
    };
    expiry = setTimeout(again, Math.min(Math.max(nextMs - now, 1), longestWaitMs)).unref();
  }

  function tell(unenforced: readonly RuleProblem[]): void {
    const problems = [...managed.problems.map((text): RuleProblem => ({ level: 'error', text })), ...unenforced];
    const now = problems.map(({ text }) => text).join();
    if (now !== said) warn(problems);
    said = now;
  }

  return {
    config(next, revision) {
      const compiled = compile(next, revision, credentials, providerKeys);
      const { enabled, max_children: maxChildren } = next.rate_limits;
      const prerequisites = { enabled, hasTemplates, usageEnabled, known: knownModels(next) };
      const rules = { rules: compileRules(next.rate_limits), prerequisites, maxChildren };
      publish(compiled, rules);
      snapshot = compiled;
      config = rules;
    },
    documents({ documents, kinds, storeId }, { source, outages }) {
      managed = readManaged(documents);
      // Connections remember what these credentials said of their key: others only when some key has changed.
      const isKnown = source !== 'nothing';
      const revision = `${isKnown} ${outages} ${storeId} ${kinds.get(managedKeys.kind) ?? 0}`;
      if (revision !== keysRevision) {
        credentials = credentialsOf(masterKeyDigest, managed.of(managedKeys), isKnown);
      }
      keysRevision = revision;
      if (snapshot === undefined || config === undefined) return;
      snapshot = withCredentials(snapshot, credentials);
      publish(snapshot, config);
    },
    renewMasterKey(masterKey) {
      masterKeyDigest = digestOfKey(masterKey);
      credentials = credentialsOf(masterKeyDigest, managed.of(managedKeys), credentials.isComplete);
      // The next documents may be others under the same revision: their seals are checked again.
      keysRevision = '';
      if (snapshot === undefined || config === undefined) return;
      snapshot = withCredentials(snapshot, credentials);
      publish(snapshot, config);
    },
  };
}

function digestOfKey(masterKey: string | undefined): string | undefined {
  return masterKey === undefined ? undefined : digestOf(masterKey);
}
