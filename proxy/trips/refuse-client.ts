// The refusal of a trip as its client is told it.
import { answerRefusal } from '../http/answer-refusal.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Ending } from '../stages/relay.ts';

interface RefusalParts {
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
}

/** Answers with what went wrong. Where even that fails the connection is cut: a client must not wait for an answer. */
export function refuseClient(exchange: Exchange, error: unknown, { nowMs, reportFailure }: RefusalParts): Ending {
  try {
    const refused = answerRefusal(error, exchange, nowMs());
    return { status: refused.status, headers: [], refused };
  } catch (further) {
    reportFailure(further, exchange.id);
    exchange.response.destroy();
    return { status: 500, headers: [], refused: undefined };
  }
}
