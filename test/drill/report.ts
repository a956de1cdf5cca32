// The page of a drill, as Markdown: for each fault where it shows, how soon it pages, and what helps.
import type { Alarm } from './alarms.ts';
import { type Fault, lineOf } from './faults.ts';

/** What was found out of a fault. */
export interface Finding {
  readonly fault: Fault;
  readonly alarms: readonly Alarm[];
  /** What clients of each team got meanwhile, and once the command had worked. */
  readonly during: string;
  readonly afterwards: string;
  readonly readiness: readonly string[];
  readonly news: readonly string[];
  readonly explanation: readonly string[];
  readonly complaints: readonly string[];
  /** Seconds until the command had worked; undefined: it did not. */
  readonly helpedAfter: number | undefined;
}

const MOST_LINES = 8;

const INTRODUCTION = `# Faults of a night

Ten faults, each played on a real fleet (two proxies, a control plane, Redis, PostgreSQL, two providers, clients of two teams): which alert comes and
how long after the fault, where else it shows, and the one command that helps. \`npm run drill\` plays them again and fails when an alert does not come in
time or a command does not help; \`npm run drill -- --write docs/night.md\` makes this page. \`admin\` is the function of
[Operating](operating.md#the-admin-api). The delays are promtool's, for the alerts of
[examples/observability](../examples/observability/README.md) over what was scraped before the fault and during it; counters go on as fast as they did.
`;

/** The table at the top, and a section for each fault. */
export function renderDrill(findings: readonly Finding[]): string {
  const rows = findings.map(
    ({ fault, alarms, helpedAfter }) =>
      `| ${fault.name} | ${alarms.length === 0 ? 'none' : alarms.slice(0, 3).map(alarmText).join('<br>')} | ${fault.page} | \`${lineOf(fault.command)}\` | ${helpedAfter === undefined ? 'did not help' : `${helpedAfter.toFixed(1)} s`} |`,
  );
  return [
    INTRODUCTION,
    '| fault | alerts, and how long after the fault | page of the dashboard | the command that helps | works after |',
    '| --- | --- | --- | --- | --: |',
    ...rows,
    ...findings.flatMap(section),
    '',
  ].join('\n');
}

function section({ fault, during, afterwards, readiness, news, explanation, complaints }: Finding): string[] {
  return [
    '',
    `## ${fault.name}`,
    '',
    `Clients meanwhile: ${during}. After the command: ${afterwards}.`,
    ...list('`/health/ready`', readiness),
    ...list('`/admin/status`, what is new', news),
    ...list('`/admin/explain?model=chat&user_path=/team-a`', explanation),
    ...list('Log', complaints),
  ];
}

function list(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const rest = lines.length - MOST_LINES;
  return [
    '',
    `${title}:`,
    '',
    ...lines.slice(0, MOST_LINES).map((line) => `- ${line}`),
    ...(rest > 0 ? [`- and ${rest} more`] : []),
  ];
}

function alarmText({ name, severity, delay }: Alarm): string {
  return `${name} (${severity}) after ${delay} s`;
}

/** What a fault promises and did not keep; empty: all is well. */
export function brokenPromises({ fault, alarms, helpedAfter }: Finding): string[] {
  const expected = alarms.find(({ name }) => name === fault.alert);
  return [
    ...(expected === undefined
      ? [`${fault.alert} does not fire`]
      : expected.delay > fault.within
        ? [`${fault.alert} fires after ${expected.delay} s, not within ${fault.within}`]
        : []),
    ...alarms.filter(({ delay }) => delay <= 0).map(({ name }) => `${name} fires without the fault`),
    ...(helpedAfter === undefined ? [`${lineOf(fault.command)} did not help`] : []),
  ].map((what) => `${fault.name}: ${what}`);
}
