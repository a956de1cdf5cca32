// A comparison of git with what runs, for a terminal.
import { sayLength } from '../../gate/conditions.ts';
import { overrideNouns } from '../override.ts';
import { oneLine } from '../said.ts';
import { type DriftReport, headline, type OtherRevision, type Plane } from './report.ts';

export function driftText(report: DriftReport): string {
  const { git, failed, stale } = report;
  return [
    headline(report),
    '',
    ...columns([
      ['git', git.revision, `${git.directory}${git.ref === undefined ? ', as it lies there' : ` at ${git.ref}`}`],
      ...report.planes.map((plane) => [plane.name, plane.revision, sayPlane(plane)]),
    ]),
    ...report.planes.flatMap(sayRejected),
    ...report.other_revisions.flatMap(sayOther),
    '',
    ...overrideLines(report),
    ...(stale ? ['', 'The state store does not answer: the overrides are those that the control plane knows.'] : []),
    ...(failed.length === 0 ? [] : ['', ...failed.map((sentence) => `failed: ${sentence}`)]),
  ].join('\n');
}

export function sayPlane({ same, source, for_ms: forMs, name, environment_matches: matches }: Plane): string {
  const isControl = name === 'control plane';
  const since = forMs === undefined ? '' : `, ${isControl ? 'in force ' : ''}for ${sayLength(forMs)}`;
  return [
    `${same ? 'as git says' : "NOT git's"}${isControl || !same ? since : ''}`,
    ...(source === 'directory' ? [] : [source === 'last-good' ? 'the last good copy' : source]),
    ...(matches ? [] : ['its environment differs from that of the control plane']),
  ].join('; ');
}

function sayRejected({ name, rejected }: Plane): string[] {
  if (rejected === null) return [];
  const { revision, since, problems } = rejected;
  return [
    '',
    `${name} rejects ${revision ?? 'what lies on its disk'}${since === undefined ? '' : ` since ${sayMoment(since)}`}:`,
    ...problems.map((problem) => `  ${problem}`),
  ];
}

export function sayWhich({ revision, commit, behind = 0 }: OtherRevision): string {
  if (commit === undefined) return `${revision} is in none of the last commits of git`;
  const later = behind === 0 ? '' : `, ${behind} ${behind === 1 ? 'change' : 'changes'} behind`;
  return `${revision} is commit ${commit.slice(0, 8)}${later}`;
}

function sayOther(other: OtherRevision): string[] {
  const { changes } = other;
  if (changes === undefined) return ['', `${sayWhich(other)}.`];
  if (changes.length === 0) return ['', `${sayWhich(other)}; git changes comments or layout alone.`];
  return ['', `${sayWhich(other)}. Since then, git says:`, ...changes.map((words) => `  ${words}`)];
}

function overrideLines({ overrides }: DriftReport): string[] {
  const { total, issued_keys: keys, rows, complete, in_git: inGit } = overrides;
  const also = keys === 0 ? '' : `${keys} issued ${keys === 1 ? 'key' : 'keys'}`;
  if (total === 0) return [also === '' ? 'Nothing is set outside git.' : `Nothing is set outside git but ${also}.`];
  const shown = rows.filter(({ kind }) => kind !== 'key');
  return [
    `Set outside git: ${total}${also === '' ? '' : `, and ${also}`}`,
    ...columns(
      shown.map((row) => [
        row.age_ms === undefined ? '' : sayLength(row.age_ms),
        overrideNouns[row.kind][0],
        oneLine(row.name),
        sayRow(row),
      ]),
    ).map((line) => `  ${line}`),
    ...(complete || shown.length === total ? [] : [`  and ${total - shown.length} more`]),
    ...(inGit === 0
      ? []
      : [
          `${inGit} of them ${inGit === 1 ? 'says' : 'say'} what git says: delete ${inGit === 1 ? 'it' : 'them'} at the admin API`,
        ]),
    'model-gateway export --patch DIR prints a patch that puts them into git.',
  ];
}

export function sayRow(row: DriftReport['overrides']['rows'][number]): string {
  const { updated_by: author, reason, expires_at: end, declared_at: place, in_git: isSame } = row;
  return [
    `${author === undefined ? '' : `by ${author}`}${reason === undefined ? '' : `: ${oneLine(reason)}`}`,
    end === undefined ? '' : `ends ${sayMoment(end)}`,
    isSame === true ? 'git says the same' : place === undefined ? '' : `stands in front of ${place}`,
  ]
    .filter((words) => words !== '')
    .join('; ');
}

export function sayMoment(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
}

/** Cells under each other; the last of a row is not filled up. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
