// The findings of guardrails on a request, and the changes that they made, as members of its record.
import type { AuditData, GuardrailRecord, RequestRevision } from '../../domain/records/request-record.ts';
import { writeBody } from '../capture/written-body.ts';
import { parseJson } from '../dialects/json/json.ts';
import type { Finding } from '../guardrails/guardrail.ts';
import type { Revised } from '../guardrails/revisions.ts';

/** The guardrails of a trip that is over. */
export interface RecordedGuarding {
  readonly findings: readonly Finding[];
  readonly revisions: readonly Revised[];
  /** A guardrail may have changed or refused the answer. */
  readonly changesAnswer: boolean;
  /** Members of the request that were taken out of it. */
  readonly leftOut?: readonly string[];
}

/** How bodies are recorded; undefined: they are not. */
type Bodies = { readonly mostBytes: number; readonly secrets: readonly string[] } | undefined;

export function guardedData({ findings, revisions }: RecordedGuarding, bodies: Bodies): Partial<AuditData> {
  const said = findings.flatMap(({ outcome, reason, ...finding }): GuardrailRecord[] => {
    if (outcome === 'pass') return [];
    return [{ ...finding, outcome, ...(reason === undefined ? {} : { reason }) }];
  });
  return {
    ...(revisions.length === 0 ? {} : { request_revisions: revisions.map((revised) => revisionOf(revised, bodies)) }),
    ...(said.length === 0 ? {} : { guardrails: said }),
  };
}

/** With bodies: what was made, unless that is the same as before, and the verdict that led to it. */
function revisionOf({ verdict, made, ...revision }: Revised, bodies: Bodies): RequestRevision {
  if (bodies === undefined) return revision;
  const { outcome } = verdict;
  const detail = outcome === 'pass' || verdict.reason === undefined ? { outcome } : { outcome, reason: verdict.reason };
  const json =
    made === undefined ? undefined : writeBody({ bytes: made, isCut: false, ...bodies, isObject: true }).json;
  return { ...revision, ...(json === undefined ? {} : { body: parseJson(json) }), detail };
}
