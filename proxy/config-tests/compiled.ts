// A configuration as its tests need it: compiled once for all of them, and a world for each, in which nothing was counted yet.
import type { MergedBudget } from '../../domain/budgets/merge-budgets.ts';
import { type Identity, identitiesOf } from '../../domain/identities/identity.ts';
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { configKeys } from '../../domain/keys/config-key.ts';
import type { Rule } from '../../domain/rules/rule.ts';
import { drainKey, type TargetDrain, TargetDrains } from '../../domain/targets/target-drain.ts';
import { foldUserPath, isWithin } from '../../domain/user-path.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import { Budgets } from '../budgets/budgets.ts';
import { Ledgers } from '../budgets/ledgers.ts';
import type { ExplainSources } from '../explain/question.ts';
import { createLimiter, type Limiter } from '../limits/limiter.ts';
import type { Matches } from '../limits/match.ts';
import { plannable } from '../replay/plannable.ts';
import { withHash } from '../replay/world.ts';
import { createBalance } from '../routing/balance/balance.ts';
import type { InForce } from '../snapshot/in-force.ts';
import { createPublisher, type Publication } from '../snapshot/publish.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { TargetStates } from '../targets/target-states.ts';

export interface CompiledConfig {
  readonly snapshot: Snapshot;
  /** As it is written, for explanations; and without its rules, which take long to look through. */
  readonly inForce: InForce;
  readonly brief: InForce;
  /** The declared keys, by name. */
  readonly keys: ReadonlyMap<string, AuthKey>;
  readonly identities: readonly Identity[];
  readonly publication: Publication;
  /** Knows which rules match, and counts nothing. */
  readonly index: Limiter;
  readonly usageEnabled: boolean;
}

/** `usageEnabled`: tokens are counted. Throws for a configuration that cannot be compiled. */
export function compileForTests(config: AssembledConfig, revision: string, usageEnabled: boolean): CompiledConfig {
  let publication: Publication | undefined;
  const publisher = createPublisher({
    masterKey: undefined,
    hasTemplates: true,
    usageEnabled,
    put(next) {
      publication = { ...next, enforcement: { ...next.enforcement, isShared: false } };
    },
    warn: () => undefined,
    tellExpired: () => undefined,
    nowMs: () => 0,
  });
  publisher.config(plannable(config), revision);
  if (publication === undefined) throw new Error('nothing was put in force');
  const index = createLimiter({ tokensEnforced: usageEnabled, isExported: false });
  index.reconcile(publication.rules, publication.enforcement);
  const inForce = publisher.inForce();
  return {
    snapshot: publication.snapshot,
    inForce,
    brief: { ...inForce, rules: [] },
    keys: new Map(configKeys(config.keys.map(withHash)).map((key) => [key.name, key])),
    identities: identitiesOf(config.identities),
    publication,
    index,
    usageEnabled,
  };
}

/** What one test may touch. */
export interface TestScope {
  /** Normalised. */
  readonly userPaths: readonly string[];
  readonly labels: readonly string[];
  /** Of the targets that its model may lead to. */
  readonly ofTargets: readonly Matches[];
  /** Providers and targets that are out. */
  readonly down: readonly string[];
}

/** The world of one test. */
export interface TestWorld extends ExplainSources {
  readonly limiter: Limiter;
  readonly budgets: Budgets;
  /** What is in it: the rules and budgets that the test may meet. */
  readonly rules: readonly Rule[];
  readonly metBudgets: readonly MergedBudget[];
}

/** Only the rules and budgets that a test may meet are in its world: so it costs little, whatever the configuration has. */
export function createTestWorld(compiled: CompiledConfig, scope: TestScope, nowMs: number): TestWorld {
  const { snapshot, publication, index, usageEnabled } = compiled;
  const all = [...scope.userPaths.map((path) => index.forUserPath(path)), ...scope.ofTargets];
  const rules = [...new Set(all.flatMap((matches) => matches.matched().map(({ caps }) => caps.rule)))];
  const limiter = createLimiter({ tokensEnforced: usageEnabled, isExported: false });
  limiter.reconcile(rules, publication.enforcement);
  const ledgers = new Ledgers();
  const { budgets, anchors } = publication.budgets;
  const met = budgets.filter(({ scope: of, matchSubject }) =>
    of === 'label'
      ? scope.labels.includes(matchSubject)
      : scope.userPaths.some((path) => isWithin(foldUserPath(path), matchSubject)),
  );
  ledgers.keep({ budgets: met, anchors }, publication.enforcement, nowMs);
  const targets = new TargetStates();
  targets.keep(snapshot.routes.targets, new TargetDrains(scope.down.map(drainOf)));
  return {
    snapshot,
    inForce: compiled.brief,
    limiter,
    budgets: new Budgets(ledgers),
    targets,
    foretell: createBalance(targets),
    rules,
    metBudgets: met,
  };
}

function drainOf(name: string): TargetDrain {
  const slash = name.indexOf('/');
  const target = slash === -1 ? { provider: name } : { provider: name.slice(0, slash), model: name.slice(slash + 1) };
  const at = '2000-01-01T00:00:00Z';
  return {
    key: drainKey(target),
    ...target,
    reason: 'given.down names it',
    createdAt: at,
    updatedAt: at,
    updatedBy: 'the test',
    expiresAt: '9999-12-31T23:59:59Z',
  };
}
