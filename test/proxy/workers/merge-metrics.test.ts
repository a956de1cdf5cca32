// The metrics of several workers as one text: what is added up, what is compared, and what stays of a worker that is gone.
import { test } from 'tap';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { type MetricsPart, mergeMetrics } from '../../../proxy/workers/merge-metrics.ts';
import { WholeMetrics } from '../../../proxy/workers/whole-metrics.ts';
import { type MetricDefinition, rateLimitMetrics } from '../../../schemas/metrics/limit-metrics.ts';
import { proxyMetrics } from '../../../schemas/metrics/proxy-metrics.ts';

/** The text of a worker: a counter with labels, a histogram, and gauges of each kind. */
function textOf(requests: number, gauge: number): string {
  return [
    '# HELP gateway_requests_total Requests.',
    '# TYPE gateway_requests_total counter',
    `gateway_requests_total{endpoint="a b",status="200"} ${requests}`,
    '# HELP gateway_request_duration_seconds Time.',
    '# TYPE gateway_request_duration_seconds histogram',
    `gateway_request_duration_seconds_bucket{le="+Inf"} ${requests}`,
    `gateway_request_duration_seconds_sum ${requests / 2}`,
    '# HELP gateway_requests_in_flight Now.',
    '# TYPE gateway_requests_in_flight gauge',
    `gateway_requests_in_flight ${gauge}`,
    '# HELP gateway_overloaded Full.',
    '# TYPE gateway_overloaded gauge',
    `gateway_overloaded ${gauge}`,
    '# HELP gateway_state_store_up Up.',
    '# TYPE gateway_state_store_up gauge',
    `gateway_state_store_up ${gauge}`,
    '# HELP process_start_time_seconds Start.',
    '# TYPE process_start_time_seconds gauge',
    `process_start_time_seconds ${gauge}`,
    '',
  ].join('\n');
}

const present = (text: string): MetricsPart => ({ text, isPresent: true });
const gone = (text: string): MetricsPart => ({ text, isPresent: false });

/** The samples without their heads. */
const samplesOf = (text: string): readonly string[] => text.split('\n').filter((line) => /^[^#]/.test(line));

await test('counters and histograms are added up, and each gauge is what its definition says', async (t) => {
  const merged = atOnce(mergeMetrics([present(textOf(3, 1)), present(textOf(5, 0))]));
  t.same(samplesOf(merged), [
    'gateway_requests_total{endpoint="a b",status="200"} 8',
    'gateway_request_duration_seconds_bucket{le="+Inf"} 8',
    'gateway_request_duration_seconds_sum 4',
    'gateway_requests_in_flight 1',
    'gateway_overloaded 1',
    'gateway_state_store_up 0',
    'process_start_time_seconds 0',
  ]);
  t.equal(merged.match(/^# HELP gateway_requests_total/gm)?.length, 1, 'a head stands once');
});

await test('of a worker that is gone the counts stay, and nothing that it measured', async (t) => {
  const merged = atOnce(mergeMetrics([present(textOf(3, 1)), gone(textOf(5, 7))]));
  t.match(samplesOf(merged), ['gateway_requests_total{endpoint="a b",status="200"} 8', /8$/, /4$/]);
  t.match(merged, /^gateway_requests_in_flight 1$/m);
  t.notMatch(atOnce(mergeMetrics([gone(textOf(5, 7))])), /in_flight/);
});

await test('every gauge of a proxy says what its workers say together', async (t) => {
  const all: readonly MetricDefinition[] = [...Object.values(proxyMetrics), ...Object.values(rateLimitMetrics)];
  const silent = all.filter(({ type, acrossWorkers }) => (type === 'gauge') !== (acrossWorkers !== undefined));
  t.same(
    silent.map(({ name }) => name),
    [],
  );
});

await test('the sums never fall: not when a worker is silent, and not when it ends and begins anew', async (t) => {
  let answers = new Map([
    [1, textOf(10, 1)],
    [2, textOf(20, 1)],
  ]);
  const counts = { configured: 2, serving: 2, restarts: 0 };
  const whole = new WholeMetrics({ ask: async () => answers, asked: () => [1, 2], counts: () => counts });
  const requests = async (): Promise<unknown> => /^gateway_requests_total.* (\d+)$/m.exec(await whole.text())?.[1];
  t.equal(await requests(), '30');
  answers = new Map([[1, textOf(11, 1)]]);
  t.equal(await requests(), '31', 'the second is silent');
  t.match(await whole.text(), /^gateway_workers_left_out 1$/m, 'and that is said');
  whole.ended(2);
  t.equal(await requests(), '31', 'the second has ended');
  answers = new Map([
    [1, textOf(11, 1)],
    [2, textOf(1, 1)],
  ]);
  t.equal(await requests(), '32', 'it has begun anew');
  t.match(await whole.text(), /^gateway_workers\{state="serving"\} 2\n.*\} 0\n(?:#.*\n)*gateway_workers_left_out 0$/m);
});
