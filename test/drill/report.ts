// The page of a drill, as Markdown: for each fault where it shows, how soon it pages, and what helps.
import { isDeepStrictEqual } from 'node:util';
import type { Alarm } from './alarms.ts';
import { type Fault, lineOf } from './faults.ts';
import type { Sight } from './observe.ts';

/** What was found out of a fault. */
export interface Finding {
  readonly fault: Fault;
  readonly alarms: readonly Alarm[];
  /** What clients got meanwhile, and once the command had worked: statuses with how often each, by team. */
  readonly during: Answers;
  readonly afterwards: Answers;
  /** Before the fault. */
  readonly usual: Sight;
  readonly sight: Sight;
  readonly complaints: readonly string[];
  /** Seconds until the command had worked; undefined: it did not. */
  readonly helpedAfter: number | undefined;
}

export type Answers = ReadonlyMap<string, ReadonlyMap<string, number>>;

const INTRODUCTION = `# Faults of a night

Ten faults, each played on a real fleet: two proxies, a control plane, Redis, PostgreSQL, two providers (\`primary\`, and \`reserve\` behind it), and
two teams that ask all the time. The full disk is that of a proxy and a control plane that keep all in files. For each: the alert and how long
after the fault it comes, the one command that helps, and where else it shows: \`/health/ready\`, \`admin status\`, \`admin targets\`,
\`admin 'explain?model=chat&user_path=/team-a'\`, the warnings of the logs, and the page of the dashboard.

\`npm run drill\` plays them again, in seven minutes. It fails when an alert does not come in time, when a second one comes for the same cause, or
when a command does not help. \`npm run drill -- --write docs/night.md\` makes this page. The delays are promtool's, for the
[alerts](../deploy/ALERTS.md) of the example over what was scraped before the fault and during it; counters go on as fast as they did. \`admin\` is
the function of [operating](operating.md#the-admin-api).

A change of the configuration that is valid and wrong is no fault that the gateway sees: [pin](pin.md) the revision before it, which takes a second, and
revert it in git meanwhile.
`;

/** The table at the top, and a section for each fault. */
export function renderDrill(findings: readonly Finding[]): string {
  const rows = findings.map(({ fault: { name }, alarms, helpedAfter }) => {
    const worked = helpedAfter === undefined ? 'did not help' : wordsOfDelay(helpedAfter);
    return `| [${name}](#${anchorOf(name)}) | ${alarms.map(alarmText).join(', ') || 'none'} | ${delaysText(alarms)} | ${worked} |`;
  });
  return [
    INTRODUCTION,
    '| Fault | Alert | after | The command has worked |',
    '| --- | --- | --: | --: |',
    ...rows,
    ...findings.flatMap(section),
    '',
  ].join('\n');
}

function section({ fault, during, afterwards, usual, sight, complaints }: Finding): string[] {
  return [
    '',
    `## ${fault.name}`,
    '',
    '```sh',
    lineOf(fault.command),
    '```',
    '',
    `- Clients: ${answersText(during)}. After the command: ${answersText(afterwards)}.`,
    ...list('Ready', sight.readiness),
    ...list('Status', sight.status),
    ...(sight.targets.length === 0 ? [] : list('Targets', sight.targets)),
    ...(isDeepStrictEqual(sight.explanation, usual.explanation)
      ? []
      : list(`Explain for ${fault.explained ?? '/team-a'}`, sight.explanation)),
    ...list('Log', complaints),
    `- Dashboard: ${fault.page}`,
  ];
}

/** A line, or a list below the title. */
function list(title: string, lines: readonly string[]): string[] {
  const [only] = lines;
  if (lines.length <= 1) return [`- ${title}: ${only ?? 'nothing'}`];
  return [`- ${title}:`, ...lines.map((line) => `  - ${line}`)];
}

function alarmText({ name, severity }: Alarm): string {
  return `[${name}](../deploy/ALERTS.md#${name.toLowerCase()}) (${severity})`;
}

function delaysText(alarms: readonly Alarm[]): string {
  return alarms.map(({ delay }) => `${delay} s`).join(', ');
}

/** What is steady from the first look on has worked at once. */
function wordsOfDelay(seconds: number): string {
  return seconds < 1 ? 'at once' : `after ${Math.ceil(seconds)} s`;
}

function answersText(answers: Answers): string {
  return [...answers].map(([team, own]) => `${team} ${sharesText(own)}`).join(', ');
}

/** Shares, because how often a team asks in a run says nothing. */
function sharesText(counts: ReadonlyMap<string, number>): string {
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (all === 0) return 'nothing';
  const shares = [...counts].toSorted(([, one], [, other]) => other - one);
  if (shares.length === 1) return `all ${shares[0]?.[0]}`;
  return shares.map(([status, count]) => `${Math.round((100 * count) / all)} % ${status}`).join(' and ');
}

function anchorOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-');
}

/** What a fault promises and did not keep; empty: all is well. */
export function brokenPromises({ fault, alarms, helpedAfter }: Finding): string[] {
  const expected = alarms.find(({ name }) => name === fault.alert);
  const others = alarms.filter(({ name }) => name !== fault.alert);
  return [
    ...(expected === undefined
      ? [`${fault.alert} does not fire`]
      : expected.delay > fault.within
        ? [`${fault.alert} fires after ${expected.delay} s, not within ${fault.within}`]
        : []),
    ...others.map(({ name }) => `${name} fires for the same cause`),
    ...alarms.filter(({ delay }) => delay <= 0).map(({ name }) => `${name} fires without the fault`),
    ...(helpedAfter === undefined ? [`${lineOf(fault.command)} did not help`] : []),
  ].map((what) => `${fault.name}: ${what}`);
}
