// Which alerts a recording sets off, and how long after the fault: judged by promtool with the alerts of the observability example.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { needProgram } from '../support/programs.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { FUTURE_SECONDS, PAST_SECONDS, type Recording, seriesOf } from './series.ts';

/** An alert that fires. */
export interface Alarm {
  readonly name: string;
  readonly severity: string;
  /** Seconds from the beginning of the fault. */
  readonly delay: number;
}

const RULES = resolve(import.meta.dirname, '../../examples/observability/alerts.yaml');
const STEP_SECONDS = 15;

/** The alerts that fire within a quarter of an hour, the soonest first. Throws when one fires before the fault. */
export function alarmsOf(t: Teardown, recording: Recording): Alarm[] {
  const moments = Array.from({ length: FUTURE_SECONDS / STEP_SECONDS + 1 }, (_, index) => index * STEP_SECONDS);
  const test = {
    ...seriesOf(recording, readFileSync(RULES, 'utf8')),
    // Nothing is expected: what promtool gives instead are the alerts.
    promql_expr_test: moments.map((moment) => ({
      expr: 'ALERTS{alertstate="firing"}',
      eval_time: `${PAST_SECONDS + moment}s`,
      exp_samples: [],
    })),
  };
  const file = join(temporaryDirectory(t, 'drill'), 'drill.test.yaml');
  const content = { rule_files: [RULES], evaluation_interval: `${STEP_SECONDS}s`, tests: [test] };
  writeFileSync(file, stringify(content, { lineWidth: 0 }));
  const promtool = needProgram('promtool', 'prometheus');
  const { stdout, stderr } = spawnSync(promtool, ['test', 'rules', file], { encoding: 'utf8', maxBuffer: 64 << 20 });
  return readAlarms(`${stdout}${stderr}`);
}

function readAlarms(said: string): Alarm[] {
  const found = new Map<string, Alarm>();
  for (const part of said.split('expr:')) {
    const delay = secondsOf(/time: (\w+)/.exec(part)?.[1] ?? '') - PAST_SECONDS;
    for (const [, labels = ''] of part.matchAll(/\{__name__="ALERTS"([^}]*)\}/g)) {
      const labelOf = (name: string): string => new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
      const name = labelOf('alertname');
      if (!found.has(name)) found.set(name, { name, severity: labelOf('severity'), delay });
    }
  }
  return [...found.values()].toSorted((one, other) => one.delay - other.delay);
}

/** The seconds of a duration as promtool prints it: `1h2m5s`. */
function secondsOf(duration: string): number {
  const units = { h: 3600, m: 60, s: 1 };
  return [...duration.matchAll(/(\d+)([hms])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units],
    0,
  );
}
