// Configurations and files of traffic for tests of plans, and the plan of them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { TrafficLine } from '../../../domain/records/traffic.ts';
import { plan } from '../../../proxy/replay/plan/plan.ts';
import type { ImpactReport, PlanReport } from '../../../proxy/replay/plan/report.ts';
import { type Teardown, temporaryDirectory } from '../../support/teardown.ts';

export const startMs = Date.parse('2026-03-02T09:00:00Z');
let folder = '';
let files = 0;

/** The folder of one suite, in which the files are made from now on. */
export function openFolder(suite: Teardown): string {
  folder = temporaryDirectory(suite, 'gateway-plan');
  return folder;
}

const price = (input: number) => ({ input_per_mtok: input, output_per_mtok: 0 });
/** A machine that plans has neither. */
const unset = (name: string): string => `\${${name}}`;
export const provider = (input: number) => ({
  type: 'openai',
  base_url: `${unset('SOME_URL')}/v1`,
  api_key: unset('SOME_KEY'),
  models: [{ id: 'm', pricing: price(input) }],
});
export const base = {
  providers: { main: provider(1), spare: provider(2) },
  aliases: [{ source: 'chat', target: 'main/m' }],
};

/** A request in each second for the alias; 1,000 tokens of it cost 0.001 dollars. */
export function traffic(
  count: number,
  change: (line: TrafficLine, index: number) => Partial<TrafficLine> = () => ({}),
) {
  return Array.from({ length: count }, (_, index): TrafficLine => {
    const line: TrafficLine = {
      id: `req_${index}`,
      at: startMs + index * 1_000,
      ms: 100,
      path: '/v1/chat/completions',
      user_path: '/team/ann',
      model: 'chat',
      status: 200,
      tokens: { input: 1_000, output: 0 },
      cost: 0.001,
      calls: [{ provider: 'main', model: 'm', ms: 90, ok: true }],
    };
    return { ...line, ...change(line, index) };
  });
}

export function directoryOf(config: object): string {
  files += 1;
  const directory = join(folder, String(files));
  mkdirSync(directory);
  writeFileSync(join(directory, 'gateway.yaml'), stringify(config));
  return directory;
}

export function fileOf(lines: readonly unknown[], head: object = {}): string {
  files += 1;
  const file = join(folder, `${files}.ndjson`);
  const first = {
    traffic: 1,
    from: '2026-03-02T00:00:00Z',
    to: '2026-03-03T00:00:00Z',
    share: 1,
    hashed: false,
    ...head,
  };
  writeFileSync(file, [first, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(''));
  return file;
}

export const run = (...args: string[]) => plan(args, { environment: {}, nowMs: startMs });

export async function impactOf(
  change: object,
  lines: readonly TrafficLine[],
  { before = {}, head = {} }: { readonly before?: object; readonly head?: object } = {},
): Promise<ImpactReport> {
  const [after, against] = [directoryOf({ ...base, ...change }), directoryOf({ ...base, ...before })];
  const { output } = await run(after, '--against', against, '--traffic', fileOf(lines, head), '--format', 'json');
  const { impact } = JSON.parse(output) as PlanReport;
  if (impact === undefined) throw new Error(output);
  return impact;
}

export const perMinute = (caps: object) => ({
  rate_limits: { user_paths: [{ path: '/team', limits: [{ period: 'minute', ...caps }] }] },
});
