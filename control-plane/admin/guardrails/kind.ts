// Guardrails as operators list and write them.
import { manualGuardrails } from '../../../domain/documents/kinds.ts';
import { kindOf, mergeGuardrails } from '../../../domain/guardrails/merge-guardrails.ts';
import { entries } from '../../../schemas/validation/generated/config.js';
import type { EntryKind } from '../../managed/entries.ts';
import { checkGuardrail } from './check.ts';
import { delegateGuardrail } from './delegation.ts';
import { guardrailRows } from './listing.ts';

/** Guardrails are for the whole gateway: operators of a user path have no access, and those of some models only to guardrails of these. */
export const guardrailKind: EntryKind<'guardrails'> = {
  section: 'guardrails',
  path: '/admin/guardrails',
  kind: manualGuardrails,
  name: 'guardrail',
  // With more, every request would wait for them.
  most: 100,
  isEntry: entries.guardrail,
  read: checkGuardrail,
  delegate: delegateGuardrail,
  merge: mergeGuardrails,
  rowsBy: guardrailRows,
  facts(guardrail) {
    const { mode, order, on, user_paths, models } = guardrail;
    return { kind: kindOf(guardrail), mode, order, on, user_paths, models };
  },
};
