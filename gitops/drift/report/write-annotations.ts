// A comparison of git with what runs as annotations of a GitHub runner: one for each condition that holds, one for the whole.
import { plainLine, titled } from '../../cli/check-formats.ts';
import { type DriftReport, headline } from './report.ts';
import { driftText } from './write-text.ts';

export function driftAnnotations(report: DriftReport): string {
  const title = 'Drift';
  return [
    ...report.failed.map((sentence) => titled('error', title, sentence)),
    titled(headline(report).startsWith('No drift') ? 'notice' : 'warning', title, headline(report)),
    ...driftText(report).split('\n').map(plainLine),
  ].join('\n');
}
