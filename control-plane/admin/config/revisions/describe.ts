// The body of GET /admin/config/revisions: what was put in force or rejected, and what each proxy makes of it.
import { timestamp } from '../../../../domain/timestamp.ts';
import type { FollowStatus } from '../../../../gitops/follow/config-status.ts';
import { withoutSecrets } from '../../../../schemas/formats/key-shapes.ts';
import type { ListedRevision, NotedVerdict } from '../../../../store/records/kept-revisions.ts';
import type { Revisions } from '../../../revisions/open-revisions.ts';

export interface RevisionListParts {
  readonly revisions: Pick<Revisions, 'status' | 'verdicts'>;
  readonly status: () => Pick<FollowStatus, 'revision' | 'source' | 'given'> | undefined;
  /** None of them is shown. */
  readonly secrets: () => readonly string[];
  readonly nowMs: () => number;
}

/** `listed`: the newest first. */
export function describeRevisions(listed: readonly ListedRevision[], parts: RevisionListParts): object {
  const { revision = '', source = 'directory' } = parts.status() ?? {};
  return {
    server_time: timestamp(parts.nowMs()),
    config_revision: revision,
    config_source: source,
    trouble: parts.revisions.status().trouble ?? null,
    revisions: describeEach(listed, parts),
  };
}

/** The rows of the list, in its order. */
export function describeEach(listed: readonly ListedRevision[], parts: RevisionListParts): object[] {
  const { revision: inForce, given } = parts.status() ?? {};
  const verdicts = Map.groupBy(parts.revisions.verdicts(), ({ revision }) => revision);
  const live = new Set(parts.revisions.verdicts().map(({ instance }) => instance));
  const secrets = parts.secrets();
  const plain = (text: string): string => withoutSecrets(text, secrets);
  // Of a content that came several times, the newest entry is what is in force, and what proxies speak of.
  const newest = new Map(listed.toReversed().map((each) => [each.revision, each.id]));
  const applied = new Map(
    listed.toReversed().flatMap((each) => (each.outcome === 'applied' ? [[each.revision, each.id]] : [])),
  );
  return listed.map((each) => {
    const { id, revision, at_ms: atMs, outcome, facts, files } = each;
    const { commit, author, authored_ms: authoredMs, subject, changes, problems = [] } = facts;
    const current = newest.get(revision) === id ? (verdicts.get(revision) ?? []) : [];
    const isInForce = applied.get(revision) === id && revision === inForce;
    return {
      revision,
      time: timestamp(atMs),
      outcome,
      in_force: isInForce,
      pinned: isInForce && given?.source === 'pinned' && given.revision === revision,
      commit: commit ?? null,
      author: author === undefined ? null : plain(author),
      authored_at: authoredMs === undefined ? null : timestamp(authoredMs),
      subject: subject === undefined ? null : plain(subject),
      changes: changes ?? null,
      files: files?.count ?? null,
      bytes: files?.bytes ?? null,
      ...(facts.without_files === undefined ? {} : { without_files: facts.without_files }),
      problems: problems.map(plain),
      problem_count: facts.problem_count ?? problems.length,
      kept_by: facts.instance,
      proxies: describeVerdicts(each, current, live).map((verdict) => ({
        ...verdict,
        problems: verdict.problems.map(plain),
      })),
    };
  });
}

interface ShownVerdict {
  readonly instance: string;
  /** It is heard now. */
  readonly live: boolean;
  /** `left`: it was in force there. */
  readonly verdict: 'in_force' | 'rejected' | 'left';
  readonly since: string;
  readonly until?: string;
  readonly problems: readonly string[];
}

/** What is heard now goes before what was noted. */
function describeVerdicts(
  { verdicts }: ListedRevision,
  current: readonly NotedVerdict[],
  live: ReadonlySet<string>,
): ShownVerdict[] {
  const noted = new Map(verdicts.map((each) => [each.instance, each]));
  const heard = new Set(current.map(({ instance }) => instance));
  const now = current.map(({ instance, verdict, sinceMs, problems }): ShownVerdict => {
    const { in_force_ms: inForceMs, until_ms: untilMs } = noted.get(instance) ?? {};
    const earlierMs = verdict === 'in_force' && untilMs === undefined ? inForceMs : undefined;
    return { instance, live: true, verdict, since: timestamp(earlierMs ?? sinceMs), problems };
  });
  const before = verdicts.flatMap((each): ShownVerdict[] => {
    const { instance, in_force_ms: inForceMs, until_ms: untilMs, rejected_ms: rejectedMs, problems = [] } = each;
    if (heard.has(instance)) return [];
    const common = { instance, live: live.has(instance) };
    if (inForceMs === undefined)
      return rejectedMs === undefined
        ? []
        : [{ ...common, verdict: 'rejected', since: timestamp(rejectedMs), problems }];
    const until = untilMs === undefined ? {} : { until: timestamp(untilMs) };
    return [{ ...common, verdict: 'left', since: timestamp(inForceMs), ...until, problems: [] }];
  });
  return [...now, ...before].sort((one, other) => (one.instance < other.instance ? -1 : 1));
}
