// What has to agree before a version is released, as functions of the texts of the repository.

export interface Finding {
  readonly what: string;
  /** What to do; undefined: it is as it should be. */
  readonly problem: string | undefined;
}

/** A package of the software bill of materials, with its licence as its author wrote it. */
export interface Package {
  readonly name: string;
  readonly version: string;
  readonly licence: string | undefined;
}

export interface ReleaseTexts {
  /** Of package.json. */
  readonly version: string;
  readonly lock: { readonly version?: string };
  readonly changelog: string;
  /** Chart.yaml; undefined: there is no chart. */
  readonly chart: string | undefined;
  /** Names of the folders of test/fixtures/releases. */
  readonly fixtures: readonly string[];
  /** What the build says of itself. */
  readonly built: { readonly version?: string };
  /** The length of LICENSES.txt of the build. */
  readonly licenceBytes: number;
  readonly packages: readonly Package[];
  /** Tags of the commit, or the one that was named. */
  readonly tags: readonly string[];
}

/** Licences that ask for no more than to be named, by their SPDX identifiers. */
const permissive = new Set(
  'MIT ISC BSD-2-Clause BSD-3-Clause Apache-2.0 0BSD BlueOak-1.0.0 CC0-1.0 Unlicense'.split(' '),
);
/** Packages whose licence is written in another form. */
const spelled: Readonly<Record<string, string>> = { Apache: 'Apache-2.0' };

/** One for each thing, in the order in which a person does them. */
export function findings(texts: ReleaseTexts): readonly Finding[] {
  const { version, lock, changelog, chart, fixtures, built, licenceBytes, packages, tags } = texts;
  const strange = packages.filter(({ licence }) => !isPermissive(licence));
  const wrongTags = tags.filter((tag) => tag !== `v${version}`);
  const charted = chart === undefined ? version : /^appVersion: *"?([^"\n]+)"?$/m.exec(chart)?.[1];
  const section = sectionOf(changelog, version);
  const checks: readonly (readonly [what: string, isWrong: boolean, problem: string])[] = [
    [`version ${version}`, !/^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/.test(version), 'write MAJOR.MINOR.PATCH in package.json'],
    ['package-lock.json', lock.version !== version, `says ${lock.version}; run npm install`],
    [
      'CHANGELOG.md',
      section === undefined || !/ - \d{4}-\d\d-\d\d$/.test(section),
      `has no heading "## [${version}] - YYYY-MM-DD"; move what is unreleased below one`,
    ],
    [
      'the fixture of its stores',
      !fixtures.includes(version),
      'is missing; run node_modules/.bin/node test/fixtures/releases/make.ts, then npm run format',
    ],
    ['the chart', charted !== version, `has appVersion ${charted}; write "${version}" in deploy/chart/Chart.yaml`],
    ['the build', built.version !== version, `says ${built.version}; run npm run build`],
    ['the licences of what is in the build', licenceBytes === 0, 'LICENSES.txt is empty or missing in the build'],
    [
      `the licences of ${packages.length} packages`,
      strange.length > 0 || packages.length === 0,
      `not known to be permissive: ${strange.map(({ name, licence }) => `${name} (${licence ?? 'none'})`).join(', ')}`,
    ],
    ['the tag', wrongTags.length > 0, `${wrongTags.join(', ')} should be v${version}`],
  ];
  return checks.map(([what, isWrong, problem]) => ({ what, problem: isWrong ? problem : undefined }));
}

/** The heading of a version. */
function sectionOf(changelog: string, version: string): string | undefined {
  return changelog.split('\n').find((line) => line.startsWith(`## [${version}]`));
}

/** Of a choice of licences one is enough, of several together each has to be. */
function isPermissive(licence: string | undefined): boolean {
  const choices = licence?.replaceAll(/[()]/g, '').split(' OR ') ?? [];
  return choices.some((choice) => choice.split(' AND ').every((name) => permissive.has(spelled[name] ?? name)));
}
