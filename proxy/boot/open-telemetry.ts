// Opens OpenTelemetry where its variables ask for it, and tells the operator when a collector does not take what is sent, and when it does again.
import type { Log } from '../../plane/log-events.ts';
import type { TelemetrySettings } from '../records/spans/settings.ts';
import type { SpanCounts } from '../records/spans/spans.ts';
import { createTelemetry, type Telemetry } from '../records/spans/telemetry.ts';

/** How long the end of the process waits for collectors. Milliseconds. */
const mostFlushMs = 2_000;

export interface OpenTelemetry {
  /** Undefined: off. */
  readonly telemetry: Telemetry | undefined;
  readonly spans: () => SpanCounts;
  /** Sends what waits, for two seconds at most. */
  close(): Promise<void>;
}

export interface OpenTelemetrySettings {
  /** Undefined: off. */
  readonly telemetry: TelemetrySettings | undefined;
  readonly instance: string;
}

const off: OpenTelemetry = {
  telemetry: undefined,
  spans: () => ({ exported: 0, dropped: 0, failed: 0, waiting: 0 }),
  close: () => Promise.resolve(),
};

/** Loads the SDK only when it is on: that takes some 100 ms and 10 MB. `version`: of the product. */
export async function openTelemetry(
  { telemetry: settings, instance }: OpenTelemetrySettings,
  version: string,
  log: Log,
): Promise<OpenTelemetry> {
  if (settings === undefined) return off;
  const { exportFigures, exportTraces, resourceOf } = await import('../records/spans/exporting.ts');
  const resource = resourceOf(settings, version, instance);
  const watch = createWatch(log);
  const traces = settings.traces && exportTraces(settings.traces, resource, watch);
  const figures = settings.metrics && exportFigures(settings.metrics, resource, watch);
  const spans = traces === undefined ? off.spans : () => traces.counts();
  return {
    telemetry: createTelemetry(traces?.to, figures?.to),
    spans,
    async close() {
      const { promise: isLate, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, mostFlushMs);
      const ended = Promise.allSettled([traces?.shutdown(), figures?.shutdown()]);
      await Promise.race([ended, isLate]);
      clearTimeout(timer);
      const { exported, dropped, failed } = spans();
      if (dropped + failed > 0) log.warn({ exported, dropped, failed }, 'some spans have not reached the collector');
    },
  };
}

/** A line when a collector begins to refuse, and one when it takes again. */
function createWatch(log: Log): (signal: string, error: Error | undefined) => void {
  const troubled = new Set<string>();
  return (signal, error) => {
    if ((error !== undefined) === troubled.has(signal)) return;
    if (error === undefined) {
      troubled.delete(signal);
      log.info(`the OpenTelemetry collector takes ${signal} again`);
    } else {
      troubled.add(signal);
      log.error({ reason: reasonOf(error) }, `the OpenTelemetry collector does not take ${signal}`);
    }
  };
}

/** A status or a code; never the words of the collector, which may repeat what it was sent. */
function reasonOf(error: Error): string {
  const { code } = error as { readonly code?: unknown };
  if (typeof code === 'number') return `status ${code}`;
  return typeof code === 'string' ? code : 'no answer';
}
