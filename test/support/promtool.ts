// promtool, the judge of what Prometheus reads: checks an exposition, and evaluates expressions and rules over scrapes as Prometheus would.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { needProgram } from './programs.ts';
import { type Teardown, temporaryDirectory } from './teardown.ts';

/** What `promtool` says with these arguments and this input; empty when it has no complaint. */
export function promtoolComplaints(args: readonly string[], input: string = ''): string {
  const promtool = needProgram('promtool', 'prometheus');
  // It lives for seconds: to collect its garbage more rarely takes a fifth of its time off.
  const env = { ...process.env, GOGC: '400' };
  const { status, stdout, stderr } = spawnSync(promtool, args, { input, encoding: 'utf8', timeout: 60_000, env });
  return status === 0 && stderr === '' ? '' : `exit ${status}\n${stdout}${stderr}`;
}

/** What all processes exposed at one moment. */
export type Scrape = readonly { readonly job: string; readonly instance: string; readonly text: string }[];

/** Scrapes in their order, each seen again so many times, four a minute. */
export type Timeline = readonly { readonly scrape: Scrape; readonly times: number }[];

/** What an expression is to give at the end of the timeline: the labels and value of each sample. */
export interface Expectation {
  readonly expression: string;
  readonly samples: readonly { readonly labels: string; readonly value: number }[];
}

const intervalSeconds = 15;

/** Lets promtool evaluate the expressions, with these rules, over the scrapes; gives what is not as expected. */
export function promqlComplaints(
  t: Teardown,
  timeline: Timeline,
  expectations: readonly Expectation[],
  ruleFiles: readonly string[] = [],
): string {
  const ends = (timeline.reduce((sum, { times }) => sum + times, 0) - 1) * intervalSeconds;
  // Series that nothing asks for are not loaded.
  const asked = [...ruleFiles.map((file) => readFileSync(file, 'utf8')), JSON.stringify(expectations)].join('\n');
  const test = {
    interval: `${intervalSeconds}s`,
    input_series: seriesOf(timeline).filter(({ series }) => asked.includes(series.slice(0, series.indexOf('{')))),
    promql_expr_test: expectations.map(({ expression, samples }) => ({
      expr: expression,
      eval_time: `${ends}s`,
      exp_samples: samples,
    })),
  };
  const file = join(temporaryDirectory(t, 'promtool'), 'scrapes.test.yaml');
  writeFileSync(
    file,
    stringify({ rule_files: ruleFiles, evaluation_interval: `${intervalSeconds}s`, tests: [test] }, { lineWidth: 0 }),
  );
  return promtoolComplaints(['test', 'rules', file]);
}

/** Every series of the scrapes with its values; `_` where a scrape does not have it. */
function seriesOf(timeline: Timeline): { series: string; values: string }[] {
  const moments = timeline.map(({ scrape, times }) => ({ times, samples: samplesOf(scrape) }));
  const names = new Set(moments.flatMap(({ samples }) => [...samples.keys()]));
  return [...names].map((series) => ({
    series,
    values: moments.flatMap(({ samples, times }) => Array<string>(times).fill(samples.get(series) ?? '_')).join(' '),
  }));
}

/** The samples of a scrape by their name with all labels, as Prometheus would store them. */
export function samplesOf(scrape: Scrape): Map<string, string> {
  const samples = new Map<string, string>();
  for (const { job, instance, text } of scrape) {
    const target = `job="${job}",instance="${instance}"`;
    samples.set(`up{${target}}`, '1');
    for (const [, name = '', labels, value = ''] of text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/gm))
      if (value !== 'NaN') samples.set(`${name}{${labels === undefined ? '' : `${labels},`}${target}}`, value);
  }
  return samples;
}
