// The SDK of OpenTelemetry: spans and figures become OTLP and go to collectors. Only this file loads it, and it is loaded only where asked for.
import {
  createTraceState,
  type HrTime,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { RequestTrace, TraceContext } from '../../call/trace-context.ts';
import type { Figures } from './attempt-figures.ts';
import type { TelemetrySettings } from './settings.ts';
import type { SpanCounts, SpanFacts } from './spans.ts';
import type { Traces } from './telemetry.ts';

/** Told of every export: undefined, or why the collector did not take it. */
export type ExportWatch = (signal: 'traces' | 'metrics', error: Error | undefined) => void;

export interface Exporting<Value> {
  readonly to: Value;
  /** Sends what waits. It may take as long as the collector does. */
  shutdown(): Promise<void>;
}

const scope = { name: 'model-gateway' };

/** Attributes of this process, which all spans and figures have. */
export function resourceOf({ resource }: TelemetrySettings, version: string, instance: string): Resource {
  return resourceFromAttributes({ 'service.version': version, 'service.instance.id': instance, ...resource });
}

/** Spans wait in a bounded queue and are sent in batches, one at a time. */
export function exportTraces(
  { collector, sampler: name, ratio, queue }: NonNullable<TelemetrySettings['traces']>,
  resource: Resource,
  watch: ExportWatch,
): Exporting<Traces> & { counts(): SpanCounts } {
  const counts = { exported: 0, dropped: 0, failed: 0, waiting: 0 };
  const exporter = new OTLPTraceExporter({ url: collector.url, headers: { ...collector.headers } });
  const processor = new BatchSpanProcessor({
    ...queue,
    exporter: {
      export(spans, done) {
        counts.waiting -= spans.length;
        exporter.export(spans, (result) => {
          counts[result.error === undefined ? 'exported' : 'failed'] += spans.length;
          watch('traces', result.error);
          done(result);
        });
      },
      forceFlush: () => exporter.forceFlush(),
      shutdown: () => exporter.shutdown(),
    },
  });
  const ids = new RandomIdGenerator();
  const sampler = samplerOf(name, ratio);
  const to: Traces = {
    drawTraceId: () => ids.generateTraceId(),
    drawSpanId: () => ids.generateSpanId(),
    isSampled: (traceId, parent) => isSampledBy(sampler, traceId, parent),
    take(span) {
      // The processor would drop it, too, but not report it.
      if (counts.waiting >= queue.maxQueueSize) {
        counts.dropped += 1;
        return;
      }
      counts.waiting += 1;
      processor.onEnd(readable(span, resource));
    },
  };
  return { to, counts: () => ({ ...counts }), shutdown: () => processor.shutdown() };
}

export function exportFigures(
  { collector, intervalMs, timeoutMs }: NonNullable<TelemetrySettings['metrics']>,
  resource: Resource,
  watch: ExportWatch,
): Exporting<Figures> {
  const exporter = new OTLPMetricExporter({ url: collector.url, headers: { ...collector.headers } });
  const send = exporter.export.bind(exporter);
  exporter.export = (metrics, done) => {
    send(metrics, (result) => {
      watch('metrics', result.error);
      done(result);
    });
  };
  const times = { exportIntervalMillis: intervalMs, exportTimeoutMillis: timeoutMs };
  const provider = new MeterProvider({
    resource,
    readers: [new PeriodicExportingMetricReader({ exporter, ...times })],
  });
  const meter = provider.getMeter(scope.name);
  // Bounds as the conventions have them.
  const duration = meter.createHistogram('gen_ai.client.operation.duration', {
    unit: 's',
    description: 'GenAI operation duration.',
    advice: {
      explicitBucketBoundaries: [
        0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
      ],
    },
  });
  const tokens = meter.createHistogram('gen_ai.client.token.usage', {
    unit: '{token}',
    description: 'Number of input and output tokens used.',
    advice: { explicitBucketBoundaries: Array.from({ length: 14 }, (_, power) => 4 ** power) },
  });
  return {
    to: {
      duration: (seconds, attributes) => duration.record(seconds, attributes),
      tokens: (count, attributes) => tokens.record(count, attributes),
    },
    shutdown: () => provider.shutdown(),
  };
}

function samplerOf(name: NonNullable<TelemetrySettings['traces']>['sampler'], ratio: number): Sampler {
  const root = name.endsWith('always_on')
    ? new AlwaysOnSampler()
    : name.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(ratio);
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function isSampledBy(sampler: Sampler, traceId: string, parent: TraceContext | undefined): boolean {
  const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remoteContext(parent));
  const { decision } = sampler.shouldSample(context, traceId, 'request', SpanKind.SERVER, {}, []);
  return decision === SamplingDecision.RECORD_AND_SAMPLED;
}

function remoteContext({ traceId, spanId, isSampled, state }: TraceContext) {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return { traceId, spanId, traceFlags, isRemote: true, ...stateOf(state) };
}

function stateOf(state: string | undefined) {
  return state === undefined ? undefined : { traceState: createTraceState(state) };
}

const nothing: [] = [];

function readable(span: SpanFacts, resource: Resource): ReadableSpan {
  const { name, kind, trace: whole, spanId, startMs, attributes, isError } = span;
  // The clock of attempts is cut to milliseconds.
  const endMs = Math.max(span.endMs, startMs);
  const context = { traceId: whole.traceId, spanId, traceFlags: TraceFlags.SAMPLED, ...stateOf(whole.parent?.state) };
  const parent = parentOf(span, whole);
  return {
    name,
    kind: kind === 'server' ? SpanKind.SERVER : SpanKind.CLIENT,
    spanContext: () => context,
    ...(parent === undefined ? undefined : { parentSpanContext: parent }),
    startTime: timeOf(startMs),
    endTime: timeOf(endMs),
    duration: timeOf(endMs - startMs),
    status: { code: isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes,
    links: nothing,
    events: nothing,
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function parentOf({ kind, parentSpanId }: SpanFacts, { traceId, parent }: RequestTrace) {
  if (parentSpanId === undefined) return undefined;
  if (kind === 'server') return parent && remoteContext(parent);
  return { traceId, spanId: parentSpanId, traceFlags: TraceFlags.SAMPLED };
}

/** Seconds and nanoseconds. */
function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)];
}
