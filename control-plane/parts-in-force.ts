// The parts of a control plane that keep to the configuration and to the managed documents in force, in the order of their commits.
import { manualAliases } from '../domain/documents/kinds.ts';
import { readKind, type StoredDocument } from '../domain/documents/managed-kind.ts';
import type { AssembledConfig } from '../gitops/assemble/assembled.ts';
import type { PartInForce } from '../plane/put-in-force.ts';
import type { Document } from '../store/state/state-store.ts';
import type { ConfigInForce } from './config-in-force.ts';
import type { DocumentsInForce } from './documents-in-force.ts';
import { datedRule, type KeptDates } from './managed/declared-dates.ts';
import type { OpenBudgets } from './open-budgets.ts';

export interface ControlPlaneParts {
  readonly config: Pick<ConfigInForce, 'prepare' | 'prepareAliases' | 'rules'>;
  readonly managed: Pick<DocumentsInForce, 'prepare'>;
  readonly budgets: Pick<OpenBudgets, 'changed'>;
  /** Logs the rules in force that no proxy enforces. */
  readonly warnUnenforced: () => void;
  readonly nowMs: () => number;
}

export function configParts(
  { config, budgets, warnUnenforced, nowMs }: ControlPlaneParts,
  declaredDates: Pick<KeptDates, 'update'>,
): PartInForce<AssembledConfig>[] {
  return [
    { name: 'configuration', prepare: (declared) => config.prepare(declared) },
    {
      name: 'dates of rules',
      prepare: () => () => declaredDates.update(config.rules.map(datedRule), nowMs()),
    },
    { name: 'budgets', prepare: () => () => budgets.changed() },
    { name: 'warnings', prepare: () => warnUnenforced },
  ];
}

/** The managed documents as they are read. */
export interface NextDocuments {
  readonly documents: readonly Document[];
  /** False until the store was read. */
  readonly isComplete: boolean;
}

export function documentParts(
  { config, managed, budgets, warnUnenforced }: ControlPlaneParts,
  { warnOfKeyPaths, expiryChanged }: DocumentReaders,
): PartInForce<NextDocuments>[] {
  return [
    { name: 'documents', prepare: ({ documents, isComplete }) => managed.prepare(documents, isComplete) },
    {
      name: 'aliases',
      prepare: ({ documents }) => config.prepareAliases(readKind(manualAliases, documents).values),
    },
    { name: 'rules', prepare: () => warnUnenforced },
    { name: 'paths of keys', prepare: (next) => () => warnOfKeyPaths(next.documents) },
    { name: 'budgets', prepare: () => () => budgets.changed() },
    { name: 'expiry', prepare: () => expiryChanged },
  ];
}

export interface DocumentReaders {
  /** See `createKeyPathWarnings`. */
  readonly warnOfKeyPaths: (documents: readonly StoredDocument[]) => void;
  /** Call it when the rules with an end may have changed. */
  readonly expiryChanged: () => void;
}
