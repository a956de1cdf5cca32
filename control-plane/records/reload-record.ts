// A reload of the configuration → its record: which content was found, what it changed, and the verdict. The control plane writes it, once for
// the fleet: what single proxies make of the same content is in /admin/status.
import type { RequestRecord } from '../../domain/records/request-record.ts';
import type { ConfigEvent } from '../../gitops/follow/config-status.ts';
import { formatProblem } from '../../gitops/read/problem.ts';
import { recordId } from '../../store/records/record-id.ts';

/** Sentences of one record. */
const mostSentences = 100;

/** The record of `data.event_type` `config_reload`. `before`: the revision in force until then; empty: none is known. */
export function recordOfReload(
  { kind, revision, problems, changes = [] }: ConfigEvent,
  { before, instance, nowMs }: { readonly before: string; readonly instance: string; readonly nowMs: number },
): RequestRecord {
  const isRejected = kind === 'rejected';
  const [first] = problems;
  return {
    id: recordId(nowMs),
    request_id: `reload-${revision}`,
    started_ms: Math.floor(nowMs),
    duration_ns: 0,
    method: 'RELOAD',
    path: '/admin/config',
    status_code: isRejected ? 400 : 200,
    stream: false,
    user_path: '/',
    client_ip: '',
    alias_used: false,
    ...(isRejected ? { error_type: 'invalid_request_error' } : {}),
    attempts: [],
    data: {
      event_type: 'config_reload',
      about: 'the configuration',
      ...(isRejected && first !== undefined
        ? { error_code: 'config_rejected', error_message: formatProblem(first) }
        : {}),
      request_body: {
        about: 'the configuration',
        verdict: kind,
        before: { revision: before },
        after: { revision: isRejected ? before : revision },
        ...(isRejected ? { rejected: { revision } } : {}),
        changes: firstOf(changes.map(({ words }) => words)),
        problems: firstOf(problems.map(formatProblem)),
      },
      config_revision: isRejected ? before : revision,
      instance,
    },
  };
}

function firstOf(sentences: readonly string[]): readonly string[] {
  const more = sentences.length - mostSentences;
  return more > 0 ? [...sentences.slice(0, mostSentences), `and ${more} more`] : sentences;
}

/** The verdicts that are recorded: the others change nothing, or are about keys and certificates. */
const recorded: ReadonlySet<ConfigEvent['kind']> = new Set(['applied', 'given', 'recovered', 'rejected']);

export interface ReloadRecords {
  /** Takes each event of the directory in turn. */
  note(event: ConfigEvent): void;
}

/**
 * `before`: the revision that this process had in force when it ended; empty: none is known. A start with that one is no reload.
 * `isAudited`: as the configuration in force says; what switches records off is recorded.
 */
export function createReloadRecords(
  before: string,
  {
    isAudited,
    append,
    instance,
    nowMs,
  }: {
    readonly isAudited: () => boolean;
    readonly append: (record: RequestRecord) => void;
    readonly instance: string;
    readonly nowMs: () => number;
  },
): ReloadRecords {
  let inForce = before;
  let wasAudited = false;
  return {
    note(event) {
      const { kind, revision } = event;
      const isSame = (kind === 'applied' || kind === 'given') && revision === inForce;
      if (recorded.has(kind) && !isSame && (isAudited() || wasAudited))
        append(recordOfReload(event, { before: inForce, instance, nowMs: nowMs() }));
      if (kind === 'applied' || kind === 'given' || kind === 'last-good-used') inForce = revision;
      wasAudited = isAudited();
    },
  };
}
