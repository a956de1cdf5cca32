// `model-gateway plan DIR`: what a configuration changes, and what it would have done to recorded traffic.
import { resolve } from 'node:path';
import { hasherOf, revealerOf } from '../../../domain/records/hash-names.ts';
import type { TrafficLine } from '../../../domain/records/traffic.ts';
import type { AssembledConfig } from '../../../gitops/assemble/assembled.ts';
import type { LoadContext } from '../../../gitops/assemble/load-context.ts';
import { firstLoadBytes, load } from '../../../gitops/assemble/load-off-thread.ts';
import { calledFrom, showPath } from '../../../gitops/cli/called-from.ts';
import { readAgainst } from '../../../gitops/cli/compare.ts';
import { diffConfigs } from '../../../gitops/diff/diff.ts';
import { readKeyFileSync } from '../../../gitops/read/key-file.ts';
import { formatProblem, sortProblems } from '../../../gitops/read/problem.ts';
import { type Reading, readDirectory } from '../../../gitops/read/read.ts';
import { defaultConfig } from '../../../gitops/read/validate.ts';
import type { Variables } from '../../../schemas/variables.ts';
import { parseFlag, parseList } from '../../../schemas/variables.ts';
import { namingEndpoints } from '../../endpoints/naming-endpoints.ts';
import { Replay } from '../replay.ts';
import { notKnown } from './not-known.ts';
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
    if (!(error instanceof PlanMistake || error instanceof TrafficMistake)) throw error;
    return { output: error.message, code: error instanceof PlanMistake ? error.code : 1 };
  }
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
  const base = { against: command.against, changes: diffConfigs(before, after) };
  const traffic = await trafficOf(command, from, parts);
  if (traffic === undefined) return { ...base, not_known: [], failed: [] };
  const reveal = revealer(command, from, [before, after]);
  const replayed = await replay({ before, after }, { ...traffic, reveal }, environment);
  const impact = impactReport(replayed, traffic);
  const failed = command.failOn.flatMap(({ text, check }) => {
    const { holds, found } = check(impact);
    return holds ? [`failed: ${text} (it is ${found})`] : [];
  });
  return { ...base, impact, not_known: notKnown(impact, { before, after }, traffic.head), failed };
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
  return openTraffic(source, { fromMs: fromMs ?? nowMs - dayMs, toMs: toMs ?? nowMs });
}

const dayMs = 86_400_000;

async function replay(
  configs: { readonly before: AssembledConfig; readonly after: AssembledConfig },
  { head, lines, reveal }: Traffic & { readonly reveal: (line: TrafficLine) => TrafficLine },
  environment: Variables,
) {
  const usageEnabled = parseFlag(environment['USAGE_ENABLED'] ?? '') ?? true;
  const countingAt = (path: string) => namingEndpoints.get(path)?.counts;
  const run = new Replay(
    { before: plannable(configs.before), after: plannable(configs.after) },
    { usageEnabled, countingAt, weight: 1 / head.share },
  );
  for await (const batch of lines) for (const line of batch) run.take(reveal(line));
  return run.end();
}

/** Gives names back that stand in the configurations. */
function revealer(
  { saltFile }: PlanCommand,
  from: string,
  configs: readonly AssembledConfig[],
): (line: TrafficLine) => TrafficLine {
  if (saltFile === undefined) return (line) => line;
  const read = readKeyFileSync(resolve(from, saltFile));
  if ('trouble' in read) throw new PlanMistake(`--salt-file: ${saltFile} ${read.trouble}`, 2);
  return revealerOf(configs, hasherOf(read.key));
}

/** A variable that is not set on this machine leaves a text that is no address; nothing is sent anywhere here. */
function plannable(config: AssembledConfig): AssembledConfig {
  const providers = Object.entries(config.providers).map(([name, provider]) => {
    const { base_url: address, proxy_url: _, ...rest } = provider;
    const usable = address === undefined || URL.canParse(address) ? address : 'https://unset.invalid/v1';
    return [name, { ...rest, ...(usable === undefined ? {} : { base_url: usable }) }];
  });
  return { ...config, providers: Object.fromEntries(providers) as AssembledConfig['providers'] };
}
