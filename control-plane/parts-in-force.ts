// The parts of a control plane that keep to the configuration and to the managed documents in force, in the order of their commits.
import {
  budgetResets,
  budgetSettings,
  managedKeys,
  manualAliases,
  manualBudgets,
  manualRules,
} from '../domain/documents/kinds.ts';
import type { ManagedKind, StoredDocument } from '../domain/documents/managed-kind.ts';
import { dashboardPaths } from '../domain/identities/dashboard-paths.ts';
import type { AssembledConfig } from '../gitops/assemble/assembled.ts';
import type { TokenKeys } from '../plane/identities/token-keys.ts';
import type { PartInForce } from '../plane/put-in-force.ts';
import type { SecureListener } from '../plane/tls/secure-listener.ts';
import { secureSettings } from '../plane/tls/secure-settings.ts';
import type { Document } from '../store/state/state-store.ts';
import type { ConfigInForce } from './config-in-force.ts';
import type { DocumentsInForce } from './documents-in-force.ts';
import { datedRule, type KeptDates } from './managed/declared-dates.ts';
import { notePathsOfPeople } from './managed/key-index.ts';
import { storedKind } from './managed/stored-kind.ts';
import type { OpenBudgets } from './open-budgets.ts';

export interface ControlPlaneParts {
  readonly config: Pick<ConfigInForce, 'prepare' | 'prepareAliases' | 'rules'>;
  readonly managed: Pick<DocumentsInForce, 'prepare' | 'prepareConfigKeys'>;
  readonly tokenKeys: Pick<TokenKeys, 'prepare'>;
  readonly budgets: Pick<OpenBudgets, 'changed'>;
  readonly secure: Pick<SecureListener, 'prepare'>;
  /** Logs the rules in force that no proxy enforces. */
  readonly warnUnenforced: () => void;
  readonly nowMs: () => number;
}

export function configParts(
  { config, managed, tokenKeys, budgets, secure, warnUnenforced, nowMs }: ControlPlaneParts,
  declaredDates: Pick<KeptDates, 'update'>,
): PartInForce<AssembledConfig>[] {
  return [
    // The private key is the listener's alone.
    { name: 'configuration', prepare: (declared) => config.prepare(withoutMaterial(declared)) },
    { name: 'listener', prepare: ({ admin, material }) => secure.prepare(secureSettings(admin.tls, material)) },
    { name: 'keys', prepare: ({ keys }) => managed.prepareConfigKeys(keys) },
    { name: 'identities', prepare: ({ identities }) => tokenKeys.prepare(identities) },
    {
      name: 'paths of people',
      prepare: ({ identities }) => {
        const paths = dashboardPaths(identities);
        return () => notePathsOfPeople(paths);
      },
    },
    {
      name: 'dates of rules',
      prepare: () => () => declaredDates.update(config.rules.map(datedRule), nowMs()),
    },
    { name: 'budgets', prepare: () => () => budgets.changed() },
    { name: 'warnings', prepare: () => warnUnenforced },
  ];
}

function withoutMaterial(declared: AssembledConfig): AssembledConfig {
  const { material: _, ...others } = declared;
  return others;
}

/** The managed documents as they are read. */
export interface NextDocuments {
  readonly documents: readonly Document[];
  /** The kinds of which a document differs from what is in force. */
  readonly changed: ReadonlySet<string>;
  /** False until the store was read. */
  readonly isComplete: boolean;
}

export function documentParts(
  { config, managed, budgets, warnUnenforced }: ControlPlaneParts,
  warnOfKeyPaths: (documents: readonly StoredDocument[]) => void,
): PartInForce<NextDocuments>[] {
  const keptTo = (
    name: string,
    kinds: readonly ManagedKind<unknown>[],
    prepare: PartInForce<NextDocuments>['prepare'],
  ): PartInForce<NextDocuments> => ({
    name,
    prepare: (next) => (kinds.some(({ kind }) => next.changed.has(kind)) ? prepare(next) : nothing),
  });
  return [
    { name: 'documents', prepare: ({ documents, isComplete }) => managed.prepare(documents, isComplete) },
    keptTo('aliases', [manualAliases], (next) => config.prepareAliases(storedKind(manualAliases, next).values())),
    // Aliases decide which rules can be enforced.
    keptTo('rules', [manualRules, manualAliases], () => warnUnenforced),
    keptTo('paths of keys', [managedKeys], (next) => () => warnOfKeyPaths(next.documents)),
    keptTo('budgets', [manualBudgets, budgetResets, budgetSettings], () => () => budgets.changed()),
  ];
}

function nothing(): void {}
