// A comparison of git with what runs, as a comment on a pull request or a summary of a run.
import { sayLength } from '../../gate/conditions.ts';
import { safe, table } from '../../gate/markdown.ts';
import { overrideNouns } from '../override.ts';
import { type DriftReport, headline } from './report.ts';
import { sayPlane, sayRow, sayWhich } from './write-text.ts';

export function driftMarkdown(report: DriftReport): string {
  const { git, planes, overrides, other_revisions: others, failed } = report;
  const rows = overrides.rows.filter(({ kind }) => kind !== 'key');
  return [
    ...(failed.length === 0 ? [] : [...failed.map((sentence) => `> **${safe(sentence)}**`), '']),
    `### ${safe(headline(report))}`,
    ...table(
      ['', 'Revision', ''],
      [
        ['git', git.revision, `${git.directory}${git.ref === undefined ? '' : ` at ${git.ref}`}`],
        ...planes.map((plane) => [plane.name, plane.revision, sayPlane(plane)]),
      ],
    ),
    ...planes.flatMap(({ name, rejected }) =>
      rejected === null
        ? []
        : [
            '',
            `${safe(name)} rejects what lies on its disk:`,
            '',
            ...rejected.problems.map((problem) => `- ${safe(problem)}`),
          ],
    ),
    ...others.flatMap((other) => [
      '',
      safe(sayWhich(other)),
      ...(other.changes ?? []).map((words, index) => `${index === 0 ? '\n' : ''}- ${safe(words)}`),
    ]),
    ...table(
      ['Age', 'Set outside git', '', ''],
      rows.map((row) => [
        row.age_ms === undefined ? '' : sayLength(row.age_ms),
        overrideNouns[row.kind][0],
        row.name,
        sayRow(row),
      ]),
    ),
    ...(overrides.issued_keys === 0 ? [] : ['', `Issued keys: ${overrides.issued_keys}`]),
  ].join('\n');
}
