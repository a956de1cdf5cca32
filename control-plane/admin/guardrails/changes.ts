// Decides what a write to guardrails changes in the store. Pure.
import { manualGuardrails } from '../../../domain/documents/kinds.ts';
import { removed, written } from '../../../domain/documents/managed-kind.ts';
import type { ManualGuardrail } from '../../../domain/guardrails/manual-guardrail.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { Guardrail } from '../../../schemas/types.ts';
import type { Change } from '../../../store/state/state-store.ts';
import { refusal } from '../../errors.ts';
import { longestDocumentBytes } from '../../managed/quotas.ts';
import { invalid } from '../../managed/read-body.ts';

/** With more, every request would wait for them. */
const mostManual = 100;

/** What is stored. */
export interface KnownGuardrails {
  /** By name. */
  readonly manual: ReadonlyMap<string, ManualGuardrail>;
  /** Names of documents that cannot be read. */
  readonly unreadable: ReadonlySet<string>;
  /** Names of those of the configuration, and where each is declared. */
  readonly declared: ReadonlyMap<string, string>;
  readonly nowMs: number;
}

/** Creates or replaces the guardrail of an operator. Throws 409 when there are too many, and 400 when it is too large. */
export function putGuardrail(known: KnownGuardrails, guardrail: Guardrail, by: string): Change[] {
  const { name } = guardrail;
  const before = known.manual.get(name);
  const count = known.manual.size + known.unreadable.size;
  if (before === undefined && !known.unreadable.has(name) && count >= mostManual)
    throw refusal('too_many_guardrails', { fill: { count, limit: mostManual } });
  const now = timestamp(known.nowMs);
  const next = { name, guardrail, createdAt: before?.createdAt ?? now, updatedAt: now, updatedBy: by };
  const change = written(manualGuardrails, name, next);
  const bytes = Buffer.byteLength(JSON.stringify(change.body));
  if (bytes > longestDocumentBytes)
    throw invalid('name', `is of a guardrail of ${bytes} bytes, and one may take ${longestDocumentBytes}`);
  return [change];
}

/** Removes it. Throws 404 `guardrail_not_found`, and 409 `guardrail_config_owned` naming where it is declared. */
export function deleteGuardrail({ manual, unreadable, declared }: KnownGuardrails, name: string): Change[] {
  if (manual.has(name) || unreadable.has(name)) return [removed(manualGuardrails, name)];
  const place = declared.get(name);
  if (place !== undefined) throw refusal('guardrail_config_owned', { fill: { name, place } });
  throw refusal('guardrail_not_found', { fill: { name } });
}
