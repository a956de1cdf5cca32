// The services and models that the guardrails of one request may ask, in its name.

import { readTraceContext, writeTraceContext } from '../../call/trace-context.ts';
import type { Outside } from '../../guardrails/outside.ts';
import type { Exchange, ModelRequest } from '../../http/exchange.ts';
import type { Telemetry } from '../../records/spans/telemetry.ts';
import type { Hooks } from '../../upstream/hooks.ts';
import { askModel } from './ask-model.ts';
import type { AuxiliaryParts, ServedRequest } from './question.ts';

/** Questions end when the client of the request leaves. */
export function outsideOf(
  served: ServedRequest & { readonly exchange: Pick<Exchange, 'left'> },
  parts: AuxiliaryParts & { readonly hooks: Hooks },
): Outside {
  const { exchange } = served;
  return {
    askHook: (hook, body) => parts.hooks.ask(hook, body, headersFor(exchange, parts), exchange.left),
    askModel(question) {
      const signal = exchange.left;
      return askModel({ ...question, purpose: 'guardrails', operation: 'chat', signal }, served, parts);
    },
  };
}

/** The trace of a request for who is no provider: it belongs below the span of the request, or of its client where none are made. */
function headersFor(exchange: ModelRequest, { telemetry }: { readonly telemetry?: Telemetry | undefined }): string[] {
  const headers = ['x-request-id', exchange.id];
  telemetry?.continueIn(headers, exchange);
  const parent = readTraceContext(exchange.request.rawHeaders);
  if (exchange.trace !== undefined || parent === undefined) return headers;
  const { traceId, spanId, isSampled } = parent;
  writeTraceContext(headers, { traceId, spanId, parent, isSampled, answer: undefined }, spanId);
  return headers;
}
