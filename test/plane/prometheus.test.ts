// The metrics of the process: those of prom-client by name, and the processor time, which is counted here.
import { test } from 'tap';
import { collectProcessMetrics, Registry } from '../../plane/prometheus.ts';

const registry = new Registry();
collectProcessMetrics(registry);

const secondsOf = async (name: string): Promise<number> => {
  const metric = await registry.getSingleMetric(name)?.get();
  return Number(metric?.values[0]?.value);
};

await test('the process has every default metric of prom-client', async (t) => {
  const names = new Set(registry.getMetricsAsArray().map(({ name }) => name));
  for (const name of [
    'process_cpu_user_seconds_total',
    'process_cpu_system_seconds_total',
    'process_cpu_seconds_total',
    'process_start_time_seconds',
    'process_resident_memory_bytes',
    'process_open_fds',
    'process_max_fds',
    'nodejs_eventloop_lag_p99_seconds',
    'nodejs_active_resources',
    'nodejs_heap_size_total_bytes',
    'nodejs_heap_space_size_total_bytes',
    'nodejs_version_info',
    'nodejs_gc_duration_seconds',
  ]) {
    t.ok(names.has(name), name);
  }
});

await test('the processor time is that of the process at every scrape', async (t) => {
  for (const scrape of [1, 2]) {
    const { user, system } = process.cpuUsage();
    const leastSeconds = (user + system) / 1e6;
    const total = await secondsOf('process_cpu_seconds_total');
    t.ok(total >= leastSeconds && total < leastSeconds + 0.1, `scrape ${scrape}: ${total}, at least ${leastSeconds}`);
  }
});

await test('user and system time are told apart', async (t) => {
  const { user, system } = process.cpuUsage();
  const [userSeconds, systemSeconds] = [
    await secondsOf('process_cpu_user_seconds_total'),
    await secondsOf('process_cpu_system_seconds_total'),
  ];
  t.ok(Math.abs(userSeconds - user / 1e6) < 0.1, `${userSeconds} user`);
  t.ok(Math.abs(systemSeconds - system / 1e6) < 0.1, `${systemSeconds} system`);
});
