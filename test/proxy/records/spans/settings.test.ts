// What the variables of OpenTelemetry switch on, and what is wrong with them; no message holds a value.
import { test } from 'tap';
import { readVariables } from '../../../../plane/environment.ts';
import { readTelemetry, type TelemetrySettings } from '../../../../proxy/records/spans/settings.ts';

const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' };

function read(variables: Record<string, string>): { settings: TelemetrySettings | undefined; problems: string[] } {
  const reader = readVariables(variables);
  return { settings: readTelemetry(reader), problems: reader.problems };
}

await test('an address switches it on; the rest is as the SDK has it', (t) => {
  t.same(read(collector).settings, {
    traces: {
      collector: { url: 'http://127.0.0.1:4318/v1/traces', headers: {} },
      sampler: 'parentbased_always_on',
      ratio: 1,
      queue: { maxQueueSize: 2048, maxExportBatchSize: 512, scheduledDelayMillis: 5000, exportTimeoutMillis: 30_000 },
    },
    metrics: {
      collector: { url: 'http://127.0.0.1:4318/v1/metrics', headers: {} },
      intervalMs: 60_000,
      timeoutMs: 30_000,
    },
    resource: { 'service.name': 'model-gateway' },
  });
  const own = read({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector.example/own',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=two%20words',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=3',
    OTEL_SERVICE_NAME: 'mine',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,k=%C3%A9',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_BSP_MAX_QUEUE_SIZE: '100',
  });
  t.match(own, {
    settings: {
      traces: {
        collector: { url: 'https://collector.example/own', headers: { a: '1', b: '3' } },
        sampler: 'traceidratio',
        ratio: 0.25,
        queue: { maxQueueSize: 100, maxExportBatchSize: 100 },
      },
      metrics: undefined,
      resource: { 'service.name': 'mine', k: 'é' },
    },
    problems: [],
  });
  t.end();
});

await test('without an address, disabled, or with both exporters none it is off, and nothing is wrong', (t) => {
  const wrong = { OTEL_TRACES_SAMPLER: 'xray', OTEL_BSP_MAX_QUEUE_SIZE: 'many' };
  const none = { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' };
  for (const variables of [{}, { ...collector, OTEL_SDK_DISABLED: 'TRUE' }, { ...collector, ...none }]) {
    t.same(read({ ...wrong, ...variables }), { settings: undefined, problems: [] });
  }
  t.match(read({ ...collector, OTEL_TRACES_EXPORTER: 'none' }).settings, { traces: undefined, metrics: Object });
  t.end();
});

await test('a mistake is told by the name of its variable', (t) => {
  const rows: [Record<string, string>, RegExp][] = [
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'canary:4317' }, /^OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https address/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL must be http\/json/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'canary' }, /^OTEL_EXPORTER_OTLP_HEADERS must be a comma list/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=canary%0a' }, /^OTEL_EXPORTER_OTLP_HEADERS must be a comma list/],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'k=%canary' }, /^OTEL_RESOURCE_ATTRIBUTES must be a comma list/],
    [{ OTEL_TRACES_EXPORTER: 'canary' }, /^OTEL_TRACES_EXPORTER must be otlp or none$/],
    [{ OTEL_TRACES_SAMPLER: 'canary' }, /^OTEL_TRACES_SAMPLER must be one of always_on/],
    [{ OTEL_TRACES_SAMPLER_ARG: '1.5' }, /^OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1$/],
    [{ OTEL_BSP_MAX_QUEUE_SIZE: '0' }, /^OTEL_BSP_MAX_QUEUE_SIZE must be a whole number from 1 to 65536$/],
  ];
  for (const [variables, problem] of rows) {
    const { problems } = read({ ...collector, ...variables });
    t.equal(problems.length, 1);
    t.match(problems[0], problem);
    t.notMatch(problems.join(), 'canary');
  }
  t.end();
});
