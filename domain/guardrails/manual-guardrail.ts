// A guardrail that an operator set through the admin API, and its document in the state store.
import type { Guardrail } from '../../schemas/types.ts';
import { entries } from '../../schemas/validation/generated/config.js';
import { entryDocuments, type ManualEntry } from '../documents/manual-entry.ts';
import { normaliseUserPath } from '../user-path.ts';
import { guardrailMistakes, webhookProblem } from './mistakes.ts';

/** The kind of its documents; the id is the name. */
export const manualGuardrailKind = 'guardrail';

export type ManualGuardrail = ManualEntry<Guardrail>;

export const { read: readManualGuardrail, write: manualGuardrailBody } = entryDocuments('guardrail', isStoredGuardrail);

function isStoredGuardrail(value: unknown, id: string): value is Guardrail {
  if (!entries.guardrail(value) || value.name !== id) return false;
  if (value.user_paths?.some((path) => normaliseUserPath(path).path !== path) === true) return false;
  // One whose patterns cannot be compiled, as another version stored it, is read: it refuses what it is for.
  const mistakes = guardrailMistakes(value).filter(({ place: [member] }) => member !== 'regex');
  if (mistakes.length > 0 || storedSecret(value) !== undefined) return false;
  return value.webhook === undefined || webhookProblem(value.webhook.url) === undefined;
}

/** The member of a webhook that would be a secret in the state store, where no variable is filled in; undefined: none is. */
export function storedSecret({ webhook }: Guardrail): 'secret' | 'headers' | undefined {
  if (webhook?.secret !== undefined) return 'secret';
  return Object.keys(webhook?.headers ?? {}).length > 0 ? 'headers' : undefined;
}
