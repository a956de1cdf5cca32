// The standard variables of OpenTelemetry that the proxy reads. Their problems are reported only where one of them switches it on.

export const telemetryVariables = [
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    readBy: 'proxy',
    says: 'Address of an OpenTelemetry collector, such as `http://127.0.0.1:4318`: switches traces and metrics over OTLP on, as HTTP with JSON, below `/v1/traces` and `/v1/metrics`. The variables of the exporter for `TIMEOUT`, `COMPRESSION` and certificates hold, too, and `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE`.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    readBy: 'proxy',
    says: 'The address for traces, with its path, in place of it.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    readBy: 'proxy',
    says: 'The address for metrics, with its path, in place of it.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    readBy: 'proxy',
    default: 'http/json',
    says: '`http/json`; where `http/protobuf` is set, JSON is sent all the same; `grpc` is refused.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    readBy: 'proxy',
    says: 'Headers for the collector, a secret: `name=value,name=value`, the values percent-encoded.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    readBy: 'proxy',
    says: 'Further ones for traces.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
    readBy: 'proxy',
    says: 'Further ones for metrics.',
  },
  {
    name: 'OTEL_SDK_DISABLED',
    readBy: 'proxy',
    default: 'false',
    says: '`true` switches OpenTelemetry off, whatever else is set.',
  },
  {
    name: 'OTEL_TRACES_EXPORTER',
    readBy: 'proxy',
    default: 'otlp',
    says: '`otlp`, or `none`: no traces, and the trace of a client is passed on as if OpenTelemetry were off.',
  },
  {
    name: 'OTEL_METRICS_EXPORTER',
    readBy: 'proxy',
    default: 'otlp',
    says: '`otlp`, or `none`: no metrics over OTLP. `/metrics` is always served.',
  },
  {
    name: 'OTEL_SERVICE_NAME',
    readBy: 'proxy',
    default: 'model-gateway',
    says: '`service.name` of all that is sent.',
  },
  {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    readBy: 'proxy',
    says: 'Further attributes of all that is sent: `name=value,name=value`, the values percent-encoded.',
  },
  {
    name: 'OTEL_TRACES_SAMPLER',
    readBy: 'proxy',
    default: 'parentbased_always_on',
    says: "`always_on`, `always_off`, `traceidratio`, or one of them behind `parentbased_`: then a client's trace is sampled as the client says.",
  },
  {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    readBy: 'proxy',
    default: '1',
    says: 'The share of the traces that `traceidratio` takes, 0 to 1.',
  },
  {
    name: 'OTEL_BSP_MAX_QUEUE_SIZE',
    readBy: 'proxy',
    default: '2048',
    says: 'Spans that may wait for the collector, at most 65536; what comes beyond is dropped and counted in `gateway_spans_total`.',
  },
  {
    name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    readBy: 'proxy',
    default: '512',
    says: 'Spans of one export, at most as many as may wait.',
  },
  {
    name: 'OTEL_BSP_SCHEDULE_DELAY',
    readBy: 'proxy',
    default: '5000',
    says: 'Milliseconds between two exports of spans.',
  },
  {
    name: 'OTEL_BSP_EXPORT_TIMEOUT',
    readBy: 'proxy',
    default: '30000',
    says: 'Milliseconds that an export of spans may take.',
  },
  {
    name: 'OTEL_METRIC_EXPORT_INTERVAL',
    readBy: 'proxy',
    default: '60000',
    says: 'Milliseconds between two exports of metrics.',
  },
  {
    name: 'OTEL_METRIC_EXPORT_TIMEOUT',
    readBy: 'proxy',
    default: '30000',
    says: 'Milliseconds that an export of metrics may take, at most as long as the interval.',
  },
] as const;
