// `model-gateway revisions`: what was put in force or rejected, by whom, who has it, and what differs between two.
import { parseArgs } from 'node:util';
import { askAdmin, connectionHelp, connectionOptions } from './admin-api.ts';
import type { Outcome } from './commands.ts';

export const revisionsUsage = '[list] | show ID [FILE] | diff ID [ID]';
export const revisionsHelp = `usage: model-gateway revisions [list]
       model-gateway revisions show ID [FILE]
       model-gateway revisions diff ID [ID]

Revisions of the configuration that the control plane has put in force or rejected: the last fifty, with commit, author and what each proxy makes
of them. ID is a revision or the beginning of one.

  list    one line for each, the newest first: * is in force
  show    when it came, what proxies made of it, and its files; the text of FILE, without what may be a secret
  diff    what it changed since the one before it; with two, what has changed from the first to the second

  --json   the answer of the admin API
${connectionHelp}

exit code: 0 done, 1 the gateway refuses or does not answer, 2 the command itself is wrong`;

const options = { ...connectionOptions, json: { type: 'boolean', default: false } } as const;

interface Verdict {
  readonly instance: string;
  readonly live: boolean;
  readonly verdict: 'in_force' | 'rejected' | 'left';
  readonly since: string;
  readonly problems: readonly string[];
}

interface Entry {
  readonly revision: string;
  readonly time: string;
  readonly outcome: 'applied' | 'rejected';
  readonly in_force: boolean;
  readonly pinned: boolean;
  readonly commit: string | null;
  readonly author: string | null;
  readonly subject: string | null;
  readonly changes: Readonly<Record<string, number>> | null;
  readonly problems: readonly string[];
  readonly without_files?: string;
  readonly proxies: readonly Verdict[];
}

interface One {
  readonly entries: readonly Entry[];
  readonly files?: readonly { readonly file: string; readonly bytes: number }[];
  readonly text?: string;
}

interface Differences {
  readonly revision: string;
  readonly against: string;
  readonly files: readonly {
    readonly file: string;
    readonly change: string;
    readonly values?: readonly {
      readonly path: string;
      readonly line?: number;
      readonly before?: string;
      readonly after?: string;
    }[];
  }[];
  readonly changes?: readonly { readonly words: string }[];
}

/** Below `/admin/`. */
const path = 'config/revisions';

export async function revisions(args: readonly string[]): Promise<Outcome> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [action = 'list', ...subjects] = positionals;
  const [least, most] = bounds[action] ?? [1, 0];
  if (subjects.length < least || subjects.length > most)
    return { output: `usage: model-gateway revisions ${revisionsUsage}`, code: 2 };
  const { url } = values;
  const listed = (await askAdmin(url, { path })) as { readonly revisions: readonly Entry[] };
  if (action === 'list') return { output: values.json ? inJson(listed) : inLines(listed.revisions), code: 0 };
  const known = listed.revisions.map(({ revision }) => revision);
  if (action === 'show') {
    const query = subjects[1] === undefined ? '' : `?${new URLSearchParams({ file: subjects[1] }).toString()}`;
    const one = (await askAdmin(url, { path: `${path}/${meant(subjects[0], known)}${query}` })) as One;
    return { output: values.json ? inJson(one) : inWords(one, subjects[1]), code: 0 };
  }
  const ids = subjects.map((each) => meant(each, known));
  const [revision, query] = ids.length === 1 ? [ids[0], ''] : [ids[1], `?against=${ids[0]}`];
  const found = (await askAdmin(url, { path: `${path}/${revision}/changes${query}` })) as Differences;
  return { output: values.json ? inJson(found) : differencesIn(found), code: 0 };
}

/** How many subjects each action may have. */
const bounds: Readonly<Record<string, readonly [least: number, most: number]>> = {
  list: [0, 0],
  show: [1, 2],
  diff: [1, 2],
};

/** The revision that begins so. Throws where there is none, or more than one. */
function meant(said = '', known: readonly string[]): string {
  const [found, ...others] = new Set(known.filter((each) => each.startsWith(said)));
  if (found !== undefined && (others.length === 0 || found === said)) return found;
  throw new Error(
    found === undefined
      ? `no revision ${JSON.stringify(said)} is kept: model-gateway revisions lists them`
      : `${JSON.stringify(said)} begins several revisions: ${[found, ...others].join(', ')}`,
  );
}

const inJson = (said: unknown): string => JSON.stringify(said, null, 2);

function inLines(entries: readonly Entry[]): string {
  if (entries.length === 0) return 'no revision is kept yet';
  return entries.map(lineOf).join('\n');
}

function lineOf(entry: Entry): string {
  const { revision, time, outcome, in_force: isInForce, pinned, author } = entry;
  const state = pinned ? 'pinned' : outcome;
  return [
    `${isInForce ? '*' : ' '} ${revision}`,
    time.replace('T', ' ').slice(0, 19),
    state.padEnd(8),
    proxiesIn(entry).padEnd(12),
    changesIn(entry).padEnd(11),
    [commitIn(entry), author === null ? '' : `(${author})`].filter((part) => part !== '').join(' '),
  ]
    .join('  ')
    .trimEnd();
}

/** Of live proxies. */
function proxiesIn({ proxies }: Entry): string {
  const live = proxies.filter((each) => each.live);
  const count = (verdict: Verdict['verdict']): number => live.filter((each) => each.verdict === verdict).length;
  const words = [
    [count('in_force'), 'in force'],
    [count('rejected'), 'rejected'],
  ].filter(([each]) => each !== 0);
  return words.length === 0 ? '-' : words.map(([each, word]) => `${each} ${word}`).join(', ');
}

function changesIn({ changes }: Entry): string {
  if (changes === null) return '-';
  const words = Object.entries(changes).map(([kind, count]) => `${count} ${kind}`);
  return words.length === 0 ? 'no entry' : words.join(', ');
}

function commitIn({ commit, subject }: Entry): string {
  return [commit === null ? '' : commit.slice(0, 10), subject ?? ''].filter((part) => part !== '').join(' ');
}

function inWords({ entries, files, text }: One, file: string | undefined): string {
  if (file !== undefined) return text ?? 'it has more than 256 KiB, and is not shown: read it in git';
  const said = entries.flatMap((entry) => [
    lineOf(entry),
    ...entry.problems.map((problem) => `    ${problem}`),
    ...entry.proxies.map(
      ({ instance, live, verdict, since, problems }) =>
        `    ${instance}${live ? '' : ' (not heard now)'}: ${verdict.replace('_', ' ')} since ${since}${problems.map((each) => `\n      ${each}`).join('')}`,
    ),
  ]);
  const reason = entries[0]?.without_files?.replaceAll('_', ' ') ?? 'unknown';
  const listed = files?.map((each) => `  ${each.file}  ${each.bytes} bytes`) ?? [`  its files are not kept: ${reason}`];
  return [...said, 'files:', ...listed].join('\n');
}

function differencesIn({ revision, against, files, changes = [] }: Differences): string {
  if (files.length === 0) return `${against} and ${revision} have the same files`;
  const values = files.flatMap(({ file, change, values: differing = [] }) => [
    `${change}: ${file}`,
    ...differing.map(({ path: at, line, before = '-', after = '-' }) => {
      return `  ${at}: ${before} → ${after}${line === undefined ? '' : ` (line ${line})`}`;
    }),
  ]);
  return [`from ${against} to ${revision}`, ...changes.map(({ words }) => words), '', ...values].join('\n');
}
