// A collector of OpenTelemetry on loopback: it keeps what it is sent over OTLP/HTTP as JSON, or takes it and never answers.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { listen } from './ports.ts';
import type { Teardown } from './teardown.ts';

type Value = string | number | boolean | undefined;

export interface CollectedSpan {
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  /** 0: unset, 2: error. */
  readonly status: number;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly resource: Readonly<Record<string, Value>>;
}

export interface CollectedPoint {
  readonly metric: string;
  readonly count: number;
  readonly sum: number;
  readonly attributes: Readonly<Record<string, Value>>;
}

export interface Collector {
  readonly url: string;
  /** Everything that came, as text. */
  readonly texts: readonly string[];
  readonly headers: readonly IncomingHttpHeaders[];
  /** From now on requests get no answer. */
  hang(): void;
  spans(): readonly CollectedSpan[];
  /** Of the last export of metrics. */
  points(): readonly CollectedPoint[];
}

interface Keyed {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: number | string;
    readonly doubleValue?: number;
    readonly boolValue?: boolean;
  };
}

interface RawSpan extends Omit<CollectedSpan, 'attributes' | 'status' | 'resource'> {
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly Keyed[];
}

interface RawMetric {
  readonly name: string;
  readonly histogram: {
    readonly dataPoints: readonly {
      readonly count: number | string;
      readonly sum: number;
      readonly attributes: readonly Keyed[];
    }[];
  };
}

interface Export {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly Keyed[] };
    readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[];
  }[];
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly RawMetric[] }[];
  }[];
}

export async function startCollector(t: Teardown): Promise<Collector> {
  const texts: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let hangs = false;
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      if (hangs) return;
      headers.push(request.headers);
      texts.push(Buffer.concat(pieces).toString());
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const port = await listen(server);
  const exports = (): Export[] => texts.map((text) => JSON.parse(text) as Export);
  return {
    url: `http://127.0.0.1:${port}`,
    texts,
    headers,
    hang() {
      hangs = true;
    },
    spans: () =>
      exports().flatMap(({ resourceSpans = [] }) =>
        resourceSpans.flatMap(({ resource, scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) => spans.map((span) => spanOf(span, plain(resource.attributes)))),
        ),
      ),
    points() {
      const last = exports().findLast(({ resourceMetrics }) => resourceMetrics !== undefined);
      const metrics =
        last?.resourceMetrics?.flatMap((each) => each.scopeMetrics.flatMap((scope) => scope.metrics)) ?? [];
      return metrics.flatMap(({ name: metric, histogram }) =>
        histogram.dataPoints.map(({ count, sum, attributes }) => ({
          metric,
          count: Number(count),
          sum,
          attributes: plain(attributes),
        })),
      );
    },
  };
}

function spanOf(raw: RawSpan, resource: CollectedSpan['resource']): CollectedSpan {
  const { name, kind, traceId, spanId, parentSpanId, traceState, status, startTimeUnixNano, endTimeUnixNano } = raw;
  return {
    name,
    kind,
    traceId,
    spanId,
    parentSpanId,
    traceState,
    resource,
    startMs: Number(startTimeUnixNano) / 1e6,
    endMs: Number(endTimeUnixNano) / 1e6,
    status: status.code ?? 0,
    attributes: plain(raw.attributes),
  };
}

function plain(attributes: readonly Keyed[]): Record<string, Value> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, doubleValue, boolValue } }) => [
      key,
      stringValue ?? boolValue ?? Number(intValue ?? doubleValue),
    ]),
  );
}
