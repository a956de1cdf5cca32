// What guardrails said of a request, and changed in it, as its record says it.
import type { AuditData, GuardrailRecord, RequestRevision } from '../../schemas/records/request-record.ts';
import type { Finding } from '../guardrails/guardrail.ts';

/** The guardrails of a trip that is over. */
export interface RecordedGuarding {
  readonly findings: readonly Finding[];
  readonly revisions: readonly RequestRevision[];
}

export function guardedData({ findings, revisions }: RecordedGuarding): Partial<AuditData> {
  const said = findings.flatMap(({ outcome, reason, ...finding }): GuardrailRecord[] => {
    if (outcome === 'pass') return [];
    return [{ ...finding, outcome, ...(reason === undefined ? {} : { reason }) }];
  });
  return {
    ...(revisions.length === 0 ? {} : { request_revisions: revisions }),
    ...(said.length === 0 ? {} : { guardrails: said }),
  };
}
