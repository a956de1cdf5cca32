// A guardrail that an operator set through the admin API, and its document in the state store.
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { Guardrail } from '../../schemas/types.ts';
import { guardrail as isGuardrail } from '../../schemas/validation/generated/config.js';
import { normaliseUserPath } from '../user-path.ts';
import { guardrailMistakes, webhookProblem } from './mistakes.ts';

/** The kind of its documents; the id is the name. */
export const manualGuardrailKind = 'guardrail';

export interface ManualGuardrail {
  readonly name: string;
  readonly guardrail: Guardrail;
  /** RFC 3339 in UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
  /** `master_key`, or the id of a managed key. */
  readonly updatedBy: string;
}

/** Guardrails by the body they were read from: the same documents are read again and again. */
const readBefore = new WeakMap<object, { readonly id: string; readonly value: ManualGuardrail | undefined }>();

/** Undefined when any member is invalid or unknown: a guardrail that is partly read could let through what it is to refuse. */
export function readManualGuardrail(id: string, body: unknown): ManualGuardrail | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const before = readBefore.get(body);
  if (before?.id === id) return before.value;
  const value = parse(id, body);
  readBefore.set(body, { id, value });
  return value;
}

function parse(id: string, body: object): ManualGuardrail | undefined {
  const { guardrail: stored, created_at, updated_at, updated_by } = body as Readonly<Record<string, unknown>>;
  if (!isMoment(created_at) || !isMoment(updated_at) || typeof updated_by !== 'string') return undefined;
  // The validator fills in defaults.
  const guardrail: unknown = structuredClone(stored);
  if (!isGuardrail(guardrail) || guardrail.name !== id) return undefined;
  if (guardrail.user_paths?.some((path) => normaliseUserPath(path).path !== path) === true) return undefined;
  // One whose patterns cannot be compiled, as another version stored it, is read: it refuses what it is for.
  const mistakes = guardrailMistakes(guardrail).filter(({ place: [member] }) => member !== 'regex');
  if (mistakes.length > 0 || storedSecret(guardrail) !== undefined) return undefined;
  if (guardrail.webhook !== undefined && webhookProblem(guardrail.webhook.url) !== undefined) return undefined;
  return Object.freeze({
    name: id,
    guardrail,
    createdAt: created_at,
    updatedAt: updated_at,
    updatedBy: updated_by,
  });
}

/** The body for `readManualGuardrail`. */
export function manualGuardrailBody({ guardrail, createdAt, updatedAt, updatedBy }: ManualGuardrail): object {
  return { guardrail, created_at: createdAt, updated_at: updatedAt, updated_by: updatedBy };
}

/** The member of a webhook that would be a secret in the state store, where no variable is filled in; undefined: none is. */
export function storedSecret({ webhook }: Guardrail): 'secret' | 'headers' | undefined {
  if (webhook?.secret !== undefined) return 'secret';
  return Object.keys(webhook?.headers ?? {}).length > 0 ? 'headers' : undefined;
}

function isMoment(value: unknown): value is string {
  return typeof value === 'string' && parseMoment(value) !== undefined;
}
