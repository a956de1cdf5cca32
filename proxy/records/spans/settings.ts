// The settings of OpenTelemetry: its standard variables, read once. They are checked only when one of them asks for it.
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
import { readVariables, type VariableReader } from '../../../plane/environment.ts';

export const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplers)[number];

/** A collector of one signal, over OTLP/HTTP with JSON. */
export interface Collector {
  readonly url: string;
  /** Secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** How spans wait and go. Milliseconds, numbers of spans. */
export interface SpanQueueSettings {
  readonly scheduledDelayMillis: number;
  readonly exportTimeoutMillis: number;
  readonly maxQueueSize: number;
  readonly maxExportBatchSize: number;
}

export interface TelemetrySettings {
  readonly traces:
    | {
        readonly collector: Collector;
        readonly sampler: SamplerName;
        /** Share of the traces that begin here, 0 to 1. */
        readonly ratio: number;
        readonly queue: SpanQueueSettings;
      }
    | undefined;
  readonly metrics:
    | { readonly collector: Collector; readonly intervalMs: number; readonly timeoutMs: number }
    | undefined;
  /** Attributes of all that is sent, `service.name` among them. */
  readonly resource: Readonly<Record<string, string>>;
}

const names = [
  'OTEL_SDK_DISABLED',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
  'OTEL_TRACES_EXPORTER',
  'OTEL_METRICS_EXPORTER',
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_BSP_SCHEDULE_DELAY',
  'OTEL_BSP_EXPORT_TIMEOUT',
  'OTEL_BSP_MAX_QUEUE_SIZE',
  'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
  'OTEL_METRIC_EXPORT_INTERVAL',
  'OTEL_METRIC_EXPORT_TIMEOUT',
] as const;
type Name = (typeof names)[number];

/** Some 2 KB each. */
const mostQueued = 65_536;
const longestMs = 3_600_000;
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerValue = /^[\t\x20-\x7e]*$/;

/** Undefined: nothing asks for it. Problems of the variables are added to the reader's only when something does. */
export function readTelemetry(reader: VariableReader): TelemetrySettings | undefined {
  const given = readVariables(Object.fromEntries(names.map((name) => [name, reader.text(name, '')])));
  const settings = new Reading(given).settings();
  if (settings !== undefined) reader.problems.push(...new Set(given.problems));
  return settings;
}

class Reading {
  readonly #reader: VariableReader;

  constructor(reader: VariableReader) {
    this.#reader = reader;
  }

  settings(): TelemetrySettings | undefined {
    // Other values than true mean false (specification of the SDK).
    if (this.#text('OTEL_SDK_DISABLED').toLowerCase() === 'true') return undefined;
    const traces = this.#collector('TRACES', 'v1/traces');
    const metrics = this.#collector('METRICS', 'v1/metrics');
    if (traces === undefined && metrics === undefined) return undefined;
    if (this.#text('OTEL_EXPORTER_OTLP_PROTOCOL') === 'grpc')
      this.#problem('OTEL_EXPORTER_OTLP_PROTOCOL', 'must be http/json: gRPC is not spoken');
    return {
      traces: traces && { collector: traces, ...this.#sampling(), queue: this.#queue() },
      metrics: metrics && { collector: metrics, ...this.#times() },
      resource: this.#resource(),
    };
  }

  #text(name: Name): string {
    return this.#reader.text(name, '');
  }

  #problem(name: Name, what: string): void {
    this.#reader.problems.push(`${name} ${what}`);
  }

  #collector(signal: 'TRACES' | 'METRICS', path: string): Collector | undefined {
    const exporter = this.#text(`OTEL_${signal}_EXPORTER`) || 'otlp';
    if (exporter === 'none') return undefined;
    if (exporter !== 'otlp') this.#problem(`OTEL_${signal}_EXPORTER`, 'must be otlp or none');
    const own: Name = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`;
    const name: Name = this.#text(own) === '' ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : own;
    const text = this.#text(name);
    if (text === '') return undefined;
    // That of one signal is used as it stands.
    const url = URL.parse(name === own ? text : `${text.replace(/\/+$/, '')}/${path}`);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      this.#problem(name, 'must be an http or https address such as http://127.0.0.1:4318');
    }
    const headers = { ...this.#headers('OTEL_EXPORTER_OTLP_HEADERS') };
    Object.assign(headers, this.#headers(`OTEL_EXPORTER_OTLP_${signal}_HEADERS`));
    return { url: url?.href ?? '', headers };
  }

  #headers(name: Name): Record<string, string> {
    const headers = this.#pairs(name);
    const isFine = Object.entries(headers).every(([key, value]) => headerName.test(key) && headerValue.test(value));
    if (!isFine) this.#problem(name, 'must be a comma list of name=value, with names and values of HTTP headers');
    return isFine ? headers : {};
  }

  /** `name=value,name=value`, the values percent-encoded where they have to be. */
  #pairs(name: Name): Record<string, string> {
    try {
      const entries = this.#text(name)
        .split(',')
        .filter((entry) => entry.trim() !== '');
      const pairs = entries.map((entry): [string, string] => {
        const at = entry.indexOf('=');
        if (at < 1) throw new URIError();
        return [entry.slice(0, at).trim(), decodeURIComponent(entry.slice(at + 1).trim())];
      });
      return Object.fromEntries(pairs);
    } catch {
      this.#problem(name, 'must be a comma list of name=value, with values that are percent-encoded');
      return {};
    }
  }

  #resource(): Record<string, string> {
    const attributes = this.#pairs('OTEL_RESOURCE_ATTRIBUTES');
    const service = this.#text('OTEL_SERVICE_NAME') || attributes['service.name'] || 'model-gateway';
    return { ...attributes, 'service.name': service };
  }

  #sampling(): { readonly sampler: SamplerName; readonly ratio: number } {
    const text = this.#text('OTEL_TRACES_SAMPLER') || 'parentbased_always_on';
    const sampler = samplers.find((known) => known === text);
    if (sampler === undefined) this.#problem('OTEL_TRACES_SAMPLER', `must be one of ${samplers.join(', ')}`);
    const ratio = Number(this.#text('OTEL_TRACES_SAMPLER_ARG') || '1');
    if (!(ratio >= 0 && ratio <= 1)) this.#problem('OTEL_TRACES_SAMPLER_ARG', 'must be a number from 0 to 1');
    return { sampler: sampler ?? 'parentbased_always_on', ratio };
  }

  #queue(): SpanQueueSettings {
    const maxQueueSize = this.#positive('OTEL_BSP_MAX_QUEUE_SIZE', 2_048, mostQueued);
    return {
      maxQueueSize,
      scheduledDelayMillis: this.#reader.wholeNumber('OTEL_BSP_SCHEDULE_DELAY', 5_000, longestMs),
      exportTimeoutMillis: this.#positive('OTEL_BSP_EXPORT_TIMEOUT', 30_000, longestMs),
      maxExportBatchSize: Math.min(maxQueueSize, this.#positive('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512, mostQueued)),
    };
  }

  #times(): { readonly intervalMs: number; readonly timeoutMs: number } {
    const intervalMs = this.#positive('OTEL_METRIC_EXPORT_INTERVAL', 60_000, longestMs);
    return {
      intervalMs,
      timeoutMs: Math.min(intervalMs, this.#positive('OTEL_METRIC_EXPORT_TIMEOUT', 30_000, longestMs)),
    };
  }

  #positive(name: Name, fallback: number, most: number): number {
    const number = this.#reader.wholeNumber(name, fallback, most);
    if (number === 0) this.#problem(name, `must be a whole number from 1 to ${most}`);
    return number;
  }
}
