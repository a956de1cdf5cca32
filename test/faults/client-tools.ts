// For the tests of clients that leave or crawl: what the clients of /team were charged, and a client that crawls.
import { connect } from 'node:net';
import { type Gateway, readMetric } from '../support/gateway.ts';

export interface Charged {
  requests: number;
  tokens: number;
  reported: number;
  partial: number;
}

/** What was charged so far: to the windows of `/team`, and as metrics by source. */
export async function charged(through: Gateway): Promise<Charged> {
  const response = await through.fetch('/v1/usage', { headers: { 'x-gateway-user-path': '/team' } });
  const { rate_limits: rules } = (await response.json()) as {
    rate_limits: { period_label: string; requests_used: number; tokens_used: number }[];
  };
  const day = rules.find((rule) => rule.period_label === 'day');
  const text = await through.metrics();
  const tokens = (source: string) => readMetric(text, 'gateway_rate_limit_tokens_total', { source }) ?? 0;
  return {
    requests: day?.requests_used ?? Number.NaN,
    tokens: day?.tokens_used ?? Number.NaN,
    reported: tokens('reported'),
    partial: tokens('partial'),
  };
}

export function minus(after: Charged, before: Charged): Charged {
  return {
    requests: after.requests - before.requests,
    tokens: after.tokens - before.tokens,
    reported: after.reported - before.reported,
    partial: after.partial - before.partial,
  };
}

/** A client that sends a request, takes one byte from the kernel, and the next a second later; the first two at once. */
export function crawl(port: number, request: string): { begin: () => void; stop: () => void; bytes: () => number } {
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const socket = connect({
    port,
    host: '127.0.0.1',
    onread: {
      buffer: Buffer.alloc(1),
      callback: () => {
        bytes += 1;
        if (bytes < 2) return true;
        timer = setTimeout(() => socket.resume(), 1000);
        return false;
      },
    },
  });
  socket.on('error', () => {});
  return {
    begin: () => void socket.write(request),
    stop() {
      clearTimeout(timer);
      socket.destroy();
    },
    bytes: () => bytes,
  };
}
