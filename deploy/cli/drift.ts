// `model-gateway drift`: compares the configuration in git with what runs.
import { readOptions } from '../../gitops/cli/read-options.ts';
import { driftMeasures, driftReport, type Running } from '../../gitops/drift/report/report.ts';
import { driftAnnotations } from '../../gitops/drift/report/write-annotations.ts';
import { driftMarkdown } from '../../gitops/drift/report/write-markdown.ts';
import { driftText } from '../../gitops/drift/report/write-text.ts';
import { readConditions } from '../../gitops/gate/conditions.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import { parseList } from '../../schemas/variables.ts';
import { askAdmin, connectionHelp } from './admin-api.ts';
import type { Outcome } from './commands.ts';

export const driftUsage =
  "DIR [--ref REF] [--format text|json|markdown|github] [--fail-on 'revision, age > 7d'] [--url URL]";

export const driftHelp = `usage: model-gateway drift DIR [--ref REF] [--format text|json|markdown|github] [--fail-on CONDITIONS] [--url URL]

Compares the configuration in DIR with what runs: the revision of the control plane and of each live proxy, revisions that are rejected, and what
operators have set outside git, with author, reason, end and age. Where another revision runs, it looks for its commit in the history of DIR
and says what git changes over it.

  --ref REF             what a branch, tag or commit says, in place of the files as they lie there
  --format text         for a terminal (the default)
  --format json         one object: git, planes[], other_revisions[], overrides, failed[]
  --format markdown     a comment or a summary
  --format github       annotations of a runner
  --fail-on CONDITIONS  names, alone or with > or >= and a number, with commas between:
                          revision     planes that do not run what git says
                          rejected     planes that reject what lies on their disk
                          environment  proxies whose environment differs from that of the control plane
                          overrides    what operators have set outside git, issued keys aside
                          age          the age of the oldest of these, such as age > 7d
                          keys         issued keys
${connectionHelp}

exit code: 0 compared, 1 a condition holds or it cannot be compared, 2 the command itself is wrong`;

const writers = {
  text: driftText,
  json: (report: object) => JSON.stringify(report, undefined, 2),
  markdown: driftMarkdown,
  github: driftAnnotations,
} as const;
type Format = keyof typeof writers;

const options = {
  ref: { type: 'string' },
  format: { type: 'string' },
  'fail-on': { type: 'string' },
  url: { type: 'string' },
} as const;

const needs = {
  ref: 'a branch, tag or commit',
  format: 'text, json, markdown or github',
  'fail-on': 'conditions, such as "revision, age > 7d"',
  url: 'the address of a gateway',
} as const;

export async function drift(args: readonly string[]): Promise<Outcome> {
  const wrong = (problem: string): Outcome => ({
    output: `${problem}\nusage: model-gateway drift ${driftUsage}`,
    code: 2,
  });
  const read = readOptions(args, options, needs);
  if (typeof read === 'string') return wrong(read);
  const { given, positionals } = read;
  const [directory, another] = positionals;
  if (directory === undefined) return wrong('no directory is named');
  if (another !== undefined) return wrong(`only one directory is compared; ${JSON.stringify(another)} is too many`);
  const format = given.get('format') ?? 'text';
  if (!isFormat(format)) {
    const known = Object.keys(writers);
    return wrong(
      `the format ${JSON.stringify(format)} is unknown${didYouMean(format, known)}; known are ${known.join(', ')}`,
    );
  }
  const failOn = readConditions(given.get('fail-on') ?? '', driftMeasures);
  if (typeof failOn === 'string') return wrong(`--fail-on: ${failOn}`);
  // Reading a configuration takes more code than the other commands.
  const { findRevisions, readWanted } = await import('../../gitops/drift/compare-git.ts');
  const { revisionOf } = await import('../../gitops/read/read.ts');
  const ref = given.get('ref');
  const wanted = await readWanted(directory, ref, process.env);
  if (typeof wanted === 'string') return wrong(wanted);
  const running = (await askAdmin(given.get('url'), { path: 'config/drift' })) as Running;
  const revision = revisionOf(wanted.hash);
  const all = [running.control_plane, ...running.proxies].map((plane) => plane.config_revision);
  const revisions = new Set(all.filter((each) => each !== revision));
  const others =
    revisions.size === 0
      ? []
      : await findRevisions(
          { directory, ref },
          { wanted, revisions },
          {
            environment: process.env,
            variables: 'keep',
            entitlements: new Set(parseList(process.env['GATEWAY_ENTITLEMENTS'] ?? '')),
          },
        );
  const git = { directory, ...(ref === undefined ? {} : { ref }), revision };
  const report = driftReport({ git, running, others }, failOn);
  return { output: writers[format](report), code: report.failed.length === 0 ? 0 : 1, isReport: true };
}

function isFormat(text: string): text is Format {
  return Object.hasOwn(writers, text);
}
