// `model-gateway plan DIR`: what a configuration changes, and what it would have done to recorded traffic.
import { resolve } from 'node:path';
import { prepareReading } from '../../../domain/documents/prepare-reading.ts';
import { type HashName, hasherOf, renamedLine, revealerOf } from '../../../domain/records/hash-names.ts';
import { revealedHead } from '../../../domain/replays/live-settings.ts';
import { type LiveSettings, momentOf } from '../../../domain/replays/traffic-head.ts';
import type { AssembledConfig } from '../../../gitops/assemble/assembled.ts';
import type { LoadContext } from '../../../gitops/assemble/load-context.ts';
import { firstLoadBytes, load } from '../../../gitops/assemble/load-off-thread.ts';
import { calledFrom, showPath } from '../../../gitops/cli/called-from.ts';
import { readAgainst } from '../../../gitops/cli/compare.ts';
import { diffConfigs } from '../../../gitops/diff/diff.ts';
import { safe } from '../../../gitops/gate/markdown.ts';
import { readKeyFileSync } from '../../../gitops/read/key-file.ts';
import { formatProblem, sortProblems } from '../../../gitops/read/problem.ts';
import { type Reading, readDirectory } from '../../../gitops/read/read.ts';
import { defaultConfig } from '../../../gitops/read/validate.ts';
import type { Variables } from '../../../schemas/variables.ts';
import { parseFlag, parseList } from '../../../schemas/variables.ts';
import { StoreUnavailable } from '../../../store/state/store-unavailable.ts';
import { namingEndpoints } from '../../endpoints/naming-endpoints.ts';
import { plannable } from '../plannable.ts';
import { Replay, type ReplayedConfigs } from '../replay.ts';
import { windowsOf } from '../spent-before.ts';
import { type Gaps, notKnown } from './not-known.ts';
import { overridesOf } from './overrides.ts';
import { type PlanCommand, readPlanCommand } from './read-plan-command.ts';
import { impactReport, type PlanReport } from './report.ts';
import { openTraffic, type Traffic, TrafficMistake } from './traffic-source.ts';
import { planAnnotations } from './write-annotations.ts';
import { planMarkdown } from './write-markdown.ts';
import { planText } from './write-text.ts';

const usage =
  'usage: model-gateway plan DIR [--against DIR|REF] [--traffic SOURCE] [--since WHEN] [--until WHEN] [--format text|json|markdown|github] [--fail-on CONDITIONS]';

export interface PlanOutcome {
  readonly output: string;
  /** 0 done, 1 a configuration cannot be used or a condition holds, 2 the command itself is wrong. */
  readonly code: 0 | 1 | 2;
}

export interface PlanParts {
  readonly environment: Variables;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

const forms = {
  text: planText,
  json: (report: PlanReport) => JSON.stringify(report, null, 2),
  markdown: planMarkdown,
  github: planAnnotations,
};

/** Never rejects for what a person can mend. */
export async function plan(args: readonly string[], parts: PlanParts): Promise<PlanOutcome> {
  const command = readPlanCommand(args, parts.nowMs);
  if (typeof command === 'string') return { output: `${command}\n${usage}`, code: 2 };
  try {
    const report = await planReport(command, parts);
    return { output: forms[command.format](report), code: report.failed.length === 0 ? 0 : 1 };
  } catch (error) {
    if (
      !(
        error instanceof PlanMistake ||
        error instanceof TrafficMistake ||
        error instanceof StoreUnavailable ||
        error instanceof RangeError
      )
    )
      throw error;
    const code = error instanceof PlanMistake ? error.code : 1;
    return { output: command.format === 'markdown' && code === 1 ? notPlanned(error.message) : error.message, code };
  }
}

/** In the place of a plan, in a comment that says elsewhere what is wrong. */
function notPlanned(why: string): string {
  const [first = '', ...more] = why.split('\n');
  return `### What this change does is not known yet\n\n${safe(first)}${more.length === 0 ? '' : `, and ${more.length} more`}`;
}

/** Why nothing is planned. */
class PlanMistake extends Error {
  readonly code: 1 | 2;

  constructor(message: string, code: 1 | 2) {
    super(message);
    this.code = code;
  }
}

async function planReport(command: PlanCommand, parts: PlanParts): Promise<PlanReport> {
  const { environment } = parts;
  const from = calledFrom(environment, 'plan');
  const directory = resolve(from, command.directory);
  const against = await readAgainst(command.against, { from, directory }, environment);
  if (against.problem !== undefined)
    throw new PlanMistake(`--against: ${JSON.stringify(command.against)} ${against.problem}\n${usage}`, 2);
  const context: LoadContext = {
    environment,
    variables: 'warning',
    entitlements: new Set(parseList(environment['GATEWAY_ENTITLEMENTS'] ?? '')),
  };
  const after = await configOf(await readDirectory(directory, showPath(from, command.directory)), context);
  const before = against.reading.files.length === 0 ? defaultConfig() : await configOf(against.reading, context);
  const base = { against: command.againstName ?? command.against, changes: diffConfigs(before, after) };
  const traffic = await trafficOf(command, from, parts);
  if (traffic === undefined) return { ...base, not_known: [], failed: [] };
  const reveal = revealer(command, from, [before, after]);
  const named = { ...traffic, head: reveal === undefined ? traffic.head : revealedHead(traffic.head, reveal) };
  const { run, gaps, live } = await replay({ before, after }, { traffic: named, reveal }, { command, environment });
  const impact = impactReport(run.end(), named);
  const failed = command.failOn.flatMap(({ text, check }) => {
    const { holds, found } = check(impact);
    return holds ? [`failed: ${text} (it is ${found})`] : [];
  });
  const overrides = live === undefined ? {} : { overrides: overridesOf(live, run.before, run.after) };
  return { ...base, ...overrides, impact, not_known: notKnown(impact, gaps), failed };
}

async function configOf(reading: Reading, context: LoadContext): Promise<AssembledConfig> {
  const { config, problems } = await load(reading.files, context, firstLoadBytes);
  const all = sortProblems([...reading.problems, ...problems]);
  if (config !== undefined && all.length === 0) return config;
  throw new PlanMistake(all.map((problem) => formatProblem(problem)).join('\n'), 1);
}

async function trafficOf(
  { traffic, fromMs, toMs }: PlanCommand,
  from: string,
  { nowMs }: PlanParts,
): Promise<Traffic | undefined> {
  if (traffic === undefined) return undefined;
  const source = traffic.includes('://') ? traffic : resolve(from, traffic);
  return openTraffic(source, { fromMs: fromMs ?? nowMs - dayMs, toMs: toMs ?? nowMs }, nowMs);
}

const dayMs = 86_400_000;

interface Replayed {
  readonly run: Replay;
  readonly gaps: Gaps;
  /** What was replayed of what operators have set. */
  readonly live: LiveSettings | undefined;
}

async function replay(
  configs: ReplayedConfigs,
  { traffic, reveal }: { readonly traffic: Traffic; readonly reveal: HashName | undefined },
  { command, environment }: { readonly command: PlanCommand; readonly environment: Variables },
): Promise<Replayed> {
  const { head } = traffic;
  const { isWithoutOverrides } = command;
  const live = isWithoutOverrides ? undefined : head.live;
  await prepareReading(live?.documents ?? []);
  const run = new Replay(
    { before: plannable(configs.before), after: plannable(configs.after) },
    {
      usageEnabled: parseFlag(environment['USAGE_ENABLED'] ?? '') ?? true,
      countingAt: (path) => namingEndpoints.get(path)?.counts,
      weight: 1 / head.share,
      live,
      fromMs: momentOf(head.from),
    },
  );
  const { before, after, longestMs } = run;
  const windowsAt = (beginMs: number) => [before, after].flatMap((world) => windowsOf(world, beginMs));
  const { beginMs, spent, lines } = await traffic.begin({ longestMs, windowsAt });
  const unknownBudgets = run.begin(spent, beginMs);
  for await (const batch of lines)
    for (const line of batch) run.take(reveal === undefined ? line : renamedLine(line, reveal));
  const warmMs = momentOf(head.from) - beginMs;
  return { run, live, gaps: { before, after, head, isWithoutOverrides, longestMs, warmMs, unknownBudgets } };
}

/** Gives names back that stand in the configurations; undefined: there are no hashes. */
function revealer({ saltFile }: PlanCommand, from: string, configs: readonly AssembledConfig[]): HashName | undefined {
  if (saltFile === undefined) return undefined;
  const read = readKeyFileSync(resolve(from, saltFile));
  if ('trouble' in read) throw new PlanMistake(`--salt-file: ${saltFile} ${read.trouble}`, 2);
  return revealerOf(configs, hasherOf(read.key));
}
