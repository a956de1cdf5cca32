// A server of the steps that send a request on and hand its answer back, between a real client and real providers.
import { createServer } from 'node:http';
import type { Test } from 'tap';
import { readCall } from '../../proxy/call/call.ts';
import { answerRefusal } from '../../proxy/http/answer-refusal.ts';
import { closeExchange, type Exchange, openExchange } from '../../proxy/http/exchange.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import type { Snapshot } from '../../proxy/snapshot/snapshot.ts';
import type { Accepted, RoutedCall } from '../../proxy/stages/attempts.ts';
import { received } from '../../proxy/stages/receive.ts';
import { type Delivery, relay } from '../../proxy/stages/relay.ts';
import { resolve } from '../../proxy/stages/resolve.ts';
import { UsageTap } from '../../proxy/tokens/usage-tap.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { listen } from '../support/ports.ts';
import { rawRequest } from '../support/raw-http.ts';
import { sampleConfig } from './sample-config.ts';
import { admitted, attempted, headSettings, held, named, nowMs, open, partsOf, routedOf } from './stage-parts.ts';

/** How a request ended: its status and the provider that answered. */
export interface Outcome {
  readonly status: number;
  readonly provider: string;
}

export interface Stand {
  readonly providers: readonly FakeUpstream[];
  readonly snapshot: Snapshot;
  readonly port: number;
  readonly outcomes: Outcome[];
}

/** What was accepted, on its way to the client of no managed key, without headers about limits. */
export function deliveryOf(routed: RoutedCall, accepted: Accepted): { delivery: Delivery; tap: UsageTap } {
  const { answer, target } = accepted;
  const tap = new UsageTap(routed, accepted, { readsUsage: true });
  return { tap, delivery: { answer, provider: target.upstream.name, taps: [tap], headers: [], holder: undefined } };
}

/** A server of two stages: every POST goes to the alias `all`, whose targets are the providers in order. */
export async function startStand(t: Test, count = 2): Promise<Stand> {
  const providers = await Promise.all(Array.from({ length: count }, () => startFakeUpstream({ t, models: ['m'] })));
  const snapshot = compile(
    sampleConfig({
      providers: Object.fromEntries(
        providers.map(({ url }, index) => [`p${index}`, { base_url: url, api_key: 'canary-key' }]),
      ),
      aliases: [{ source: 'all', targets: providers.map((_, index) => ({ model: `p${index}/m` })) }],
    }),
    '',
    open,
  );
  const outcomes: Outcome[] = [];
  const parts = partsOf();
  const { pools } = parts;
  const serve = async (exchange: Exchange): Promise<void> => {
    try {
      const call = readCall(await received(exchange, 1 << 20, held()));
      const route = resolve(named('all'), snapshot, undefined);
      const routed = routedOf(call, route, admitted(parts));
      const accepted = await attempted(routed, [], exchange, parts);
      const { delivery } = deliveryOf(routed, accepted);
      const { status } = await relay(delivery, exchange, parts);
      outcomes.push({ status, provider: accepted.target.upstream.name });
    } catch (error) {
      const { status, provider = '' } = answerRefusal(error, exchange);
      outcomes.push({ status, provider });
    }
  };
  const server = createServer((request, response) => {
    const exchange = openExchange(request, response, headSettings, nowMs());
    response.on('close', () => closeExchange(exchange));
    void serve(exchange);
  });
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    pools.closeFree();
  });
  return { providers, snapshot, outcomes, port: await listen(server) };
}

export function post(port: number, body: string) {
  const lines = [
    'POST / HTTP/1.1',
    'Host: a',
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  return rawRequest(port, `${lines.join('\r\n')}\r\n\r\n${body}`);
}
