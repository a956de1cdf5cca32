// Config and managed documents → what is in force: one frozen snapshot, and the rules the limiter is to keep to.
import type { AssembledConfig } from '../../gitops/assembled.ts';
import { authKeyKind, readAuthKeys, unreadableAuthKeys } from '../../schemas/keys/auth-key.ts';
import { type Credentials, credentialsOf } from '../../schemas/keys/credentials.ts';
import { knownModels } from '../../schemas/rules/known-models.ts';
import { readManualRules } from '../../schemas/rules/manual-rule.ts';
import { mergeRules, nextExpiryMs } from '../../schemas/rules/merge.ts';
import type { RuleMeans } from '../../schemas/rules/obstacle.ts';
import { everyRule, resetEpochs } from '../../schemas/rules/reset-epochs.ts';
import { compileRules, type Rule } from '../../schemas/rules/rule.ts';
import { type RuleProblem, unenforcedProblems } from '../../schemas/rules/unenforced.ts';
import type { StateOrigin } from '../../store/state/follow-state.ts';
import type { Document, StoredState } from '../../store/state/state-store.ts';
import type { Enforcement } from '../limits/enforcement.ts';
import { compile, withCredentials } from './compile.ts';
import type { Snapshot } from './snapshot.ts';

export interface PublishOptions {
  /** SHA-256 of the master key in hex. */
  readonly masterKeyDigest: string | undefined;
  /** Per-child templates are entitled. */
  readonly hasTemplates: boolean;
  /** Tokens are counted. */
  readonly usageEnabled: boolean;
  /** Puts both in force, in one go. */
  readonly put: (snapshot: Snapshot, rules: readonly Rule[], enforcement: Required<Enforcement>) => void;
  /** Something was left out, or is not enforced; a sentence each. Called when that changes. */
  readonly warn: (problems: readonly RuleProblem[]) => void;
  /** Whole milliseconds. */
  readonly nowMs: () => number;
}

export interface Publisher {
  /** A config was found good; throws what `put` throws. */
  config(config: AssembledConfig, revision: string): void;
  /** The managed documents changed; with the source `nothing` they could not be read yet. */
  documents(state: Pick<StoredState, 'documents' | 'kinds' | 'storeId'>, origin: StateOrigin): void;
}

/** Rules that expire far away are looked at again at least this often: timers reach no further. Milliseconds. */
const longestWaitMs = 3_600_000;

/** Nothing is put in force before there is a config. */
export function createPublisher(options: PublishOptions): Publisher {
  const { masterKeyDigest, hasTemplates, usageEnabled, put, warn, nowMs } = options;
  let config: { rules: readonly Rule[]; means: RuleMeans; maxChildren: number } | undefined;
  let snapshot: Snapshot | undefined;
  let documents: readonly Document[] = [];
  let credentials: Credentials = credentialsOf(masterKeyDigest, []);
  let keysRevision = '';
  let lostKeys: readonly string[] = [];
  let expiry: NodeJS.Timeout | undefined;
  let said = '';

  function publish(next: Snapshot, { rules, means, maxChildren }: NonNullable<typeof config>): void {
    const now = nowMs();
    const { rules: manual, unreadable } = readManualRules(documents);
    const epochs = resetEpochs(documents);
    const merged = mergeRules({ config: rules, manual, epochs, nowMs: now, means });
    // Also while rate limits are switched off: their counters are kept for as long as their windows.
    const counted = merged.filter((rule) => rule.counted);
    put(next, counted, { isEnforced: means.enabled, maxChildren });
    tell(unenforcedProblems(merged, means), unreadable, epochs.unreadable);
    clearTimeout(expiry);
    const nextMs = nextExpiryMs(manual, now);
    if (nextMs === undefined) return;
    const again = (): void => {
      if (snapshot !== undefined && config !== undefined) publish(snapshot, config);
    };
    expiry = setTimeout(again, Math.min(Math.max(nextMs - now, 1), longestWaitMs)).unref();
  }

  function tell(unenforced: RuleProblem[], lostRules: readonly string[], lostEpochs: readonly string[]): void {
    const lost = [
      ...lostRules.map((id) => `the stored rule "${id}" cannot be read and is not enforced`),
      ...lostEpochs.map((id) => `the stored reset of ${id === everyRule ? 'every rule' : `"${id}"`} cannot be read`),
      ...lostKeys.map((id) => `the stored key "${id}" cannot be read and is refused`),
    ];
    const problems = [...lost.map((text): RuleProblem => ({ level: 'error', text })), ...unenforced];
    const now = problems.map(({ text }) => text).join();
    if (now !== said) warn(problems);
    said = now;
  }

  return {
    config(next, revision) {
      const compiled = compile(next, revision, credentials);
      const { enabled, max_children: maxChildren } = next.rate_limits;
      const means = { enabled, hasTemplates, usageEnabled, known: knownModels(next) };
      const rules = { rules: compileRules(next.rate_limits), means, maxChildren };
      publish(compiled, rules);
      snapshot = compiled;
      config = rules;
    },
    documents({ documents: next, kinds, storeId }, { source, outages }) {
      documents = next;
      // Connections remember what these credentials said of their key: others only when some key has changed.
      const isKnown = source !== 'nothing';
      const revision = `${isKnown} ${outages} ${storeId} ${kinds.get(authKeyKind) ?? 0}`;
      if (revision !== keysRevision) {
        credentials = credentialsOf(masterKeyDigest, readAuthKeys(next), isKnown);
        lostKeys = unreadableAuthKeys(next);
      }
      keysRevision = revision;
      if (snapshot === undefined || config === undefined) return;
      snapshot = withCredentials(snapshot, credentials);
      publish(snapshot, config);
    },
  };
}
