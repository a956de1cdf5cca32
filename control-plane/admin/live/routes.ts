// The route GET /admin/live: audit entries as they come in, as server-sent events.
import type { ServerResponse } from 'node:http';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { livePath } from '../../../domain/records/live-stream.ts';
import { rightOf } from '../../../schemas/admin-rights.ts';
import { singleFlight } from '../../../store/single-flight.ts';
import { type AccessParts, isInScope, type Operator, operatorNow, who } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import { readFilled, readWhole } from '../records/read-query.ts';
import { storeRefusal } from '../store-refusal.ts';
import { opening } from './events.ts';
import { type FeedParts, LiveFeed } from './feed.ts';
import type { Sink } from './listener.ts';

export interface LiveParts extends FeedParts {
  /** The authorities in force: a stream ends with the one that opened it. */
  readonly access: Pick<AccessParts, 'credentials' | 'nowMs'>;
}

/** Open streams, in all and of one managed key. */
const mostListeners = 100;
const mostOfOneKey = 20;

/** A scoped operator gets the entries of its user path and below. */
export const liveRoutes: FastifyPluginAsync<{ readonly parts: LiveParts }> = async (app, { parts }) => {
  const feed = new LiveFeed(parts);
  const openStreams = new Map<string, number>();
  // One question for all who connect at the same moment: the store takes few at once.
  const probe = singleFlight(async () => parts.records()?.arrived(undefined, 1));

  app.setErrorHandler((error) => {
    throw storeRefusal(error, 'record store');
  });
  // An open stream would hold up the end of the process.
  app.addHook('preClose', async () => feed.close());

  app.get(livePath, { exposeHeadRoute: false }, async (request, reply) => {
    const cursor = readCursor(request);
    // A store that does not answer is told by a status, before the stream begins.
    await probe.join();
    const name = who(request);
    const ofOne = openStreams.get(name) ?? 0;
    if (feed.size >= mostListeners) throw tooMany(feed.size, 'in all');
    if (request.operator.key !== undefined && ofOne >= mostOfOneKey) throw tooMany(ofOne, 'with this key');

    reply.hijack();
    const { raw } = reply;
    if (raw.destroyed) return;
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // Proxies that collect answers pass this one on as it comes.
      'x-accel-buffering': 'no',
    });
    raw.write(opening);
    openStreams.set(name, ofOne + 1);
    const joined = feed.join(sinkOf(raw, request.operator, parts.access), cursor);
    raw.on('drain', () => joined.drained());
    // The connection may break between its end and the event that tells of it.
    raw.on('error', () => undefined);
    raw.once('close', () => {
      joined.left();
      const left = (openStreams.get(name) ?? 1) - 1;
      if (left === 0) openStreams.delete(name);
      else openStreams.set(name, left);
    });
  });
};

/** A browser that connects again sends what it had last, with the same address. */
function readCursor({ query, headers }: FastifyRequest): number | undefined {
  const { cursor } = readFilled(query, ['cursor']);
  const asked = cursor === undefined ? undefined : readWhole('cursor', cursor, [0, Number.MAX_SAFE_INTEGER]);
  const last = headers['last-event-id'];
  if (last === undefined || last === '') return asked;
  const number = /^\d{1,16}$/.test(String(last)) ? Number(last) : Number.NaN;
  if (number <= Number.MAX_SAFE_INTEGER) return number;
  const fill = { name: 'Last-Event-ID', problem: 'must be the id of an event of this stream' };
  throw refusal('invalid_header', { param: 'Last-Event-ID', fill });
}

function sinkOf(raw: ServerResponse, operator: Operator, access: LiveParts['access']): Sink {
  const needed = rightOf('GET', livePath);
  let present: Operator | undefined = operator;
  return {
    write: (text) => void raw.write(text),
    waitingBytes: () => raw.writableLength,
    sees: ({ user_path }) => present !== undefined && isInScope(present, user_path),
    isAllowed() {
      present = needed && operatorNow(operator, access, needed);
      return present !== undefined;
    },
    // Bytes that a client does not read would never be sent.
    end: () => void (raw.writableLength > 0 ? raw.destroy() : raw.end()),
  };
}

function tooMany(count: number, where: string): Error {
  return refusal('too_many_listeners', { fill: { count, where }, headers: { 'retry-after': '10' } });
}
