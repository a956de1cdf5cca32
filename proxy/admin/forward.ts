// The other trip: /admin and everything below it goes to the control plane, which also decides who may do what. Nothing of a body is kept.
// The head of an answer to a write is held back until this proxy enforces the write; the body waits in its connection.

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { clientAddressHeader } from '../../domain/keys/client-address.ts';
import { liveHeartbeatMs, livePath } from '../../domain/records/live-stream.ts';
import type { FailedLogins } from '../../plane/access/failed-logins.ts';
import type { KeyUses } from '../../plane/access/key-uses.ts';
import type { TokenKeys } from '../../plane/identities/token-keys.ts';
import { readStateRevision, stateRevisionHeader } from '../../schemas/state-revision.ts';
import type { StateFollower } from '../../store/state/state-follower.ts';
import { pathOf } from '../call/head.ts';
import { refusal } from '../errors.ts';
import { fixedHeaders } from '../http/answer-headers.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import { type BodyLimit, expectLength, readBody } from '../http/read-body.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { endToEndHeaders, forward, neverConnected } from '../upstream/forward.ts';
import type { Pools } from '../upstream/pools.ts';
import type { Siblings } from '../workers/siblings.ts';
import { adminAccess, authenticateAdmin, refusePaused } from './authenticate-admin.ts';
import { awaitEnforcedByAll, enforcedHeader } from './await-enforced.ts';
import type { ControlPlaneLink } from './control-plane-link.ts';
import { headersOfBrowser, isLogin, isPublic, PublicTurns } from './public-requests.ts';

/** Longest body the control plane takes. */
const bodyLimit: BodyLimit = { bytes: 1024 * 1024, setting: '' };

/** The longest of a request that needs no key: a login. */
const publicBodyLimit: BodyLimit = { bytes: 4 * 1024, setting: '' };
const publicTurns = new PublicTurns();

/** How long a stream may say nothing before it counts as broken. Milliseconds. */
const quietMs = 3 * liveHeartbeatMs;

interface AdminForwardParts {
  /** The time by which keys and sessions end: see `authorityClock`. Unix milliseconds. */
  readonly authorityMs: () => number;
  /** The memory for bodies of open requests. */
  readonly bodies: BodyBudget;
  readonly controlPlane: ControlPlaneLink;
  /** The snapshot in force; a request asks once. */
  readonly current: () => Snapshot;
  readonly failedLogins: FailedLogins;
  readonly tokenKeys: TokenKeys;
  readonly keyUses: KeyUses;
  /** The managed state that this proxy follows; requests are served only while there is one. */
  readonly managedState: () => Pick<StateFollower, 'status' | 'refresh'>;
  /** Monotonic milliseconds, anchored to wall time at start. */
  readonly nowMs: () => number;
  readonly pools: Pools;
  /** The other workers of this proxy. */
  readonly siblings: Pick<Siblings, 'ask'>;
}

/**
 * Serves one request. Throws what `authenticateAdmin` throws, before anything of the body is read; then 413, 503 `overloaded`, and 503
 * `control_plane_unavailable`.
 */
export async function forwardAdmin(exchange: Exchange, gateway: AdminForwardParts): Promise<void> {
  const path = pathOf(exchange.request.url ?? '');
  if (isPublic(exchange.request.method, path)) {
    if (isLogin(exchange.request.method, path)) refusePaused(exchange, gateway.failedLogins);
    await carry(exchange, gateway, { consumer: 'public', limit: publicBodyLimit }, (body) =>
      publicTurns.take(exchange, gateway.nowMs(), () => handOn(exchange, body, gateway)),
    );
    return;
  }
  const { kind, key } = await authenticateAdmin(exchange, adminAccess(gateway));
  gateway.keyUses.note(key?.id, exchange.startedAtMs);
  await carry(exchange, gateway, { consumer: key?.id ?? kind, limit: bodyLimit }, (body) =>
    handOn(exchange, body, gateway),
  );
}

/** Reads the body, then does the rest with it. `consumer`: whom the memory of its body is charged to. */
async function carry(
  exchange: Exchange,
  gateway: AdminForwardParts,
  { consumer, limit }: { readonly consumer: string; readonly limit: BodyLimit },
  handBodyOn: (body: Buffer) => Promise<void>,
): Promise<void> {
  const held = gateway.bodies.open(consumer, gateway.current());
  try {
    expectLength(exchange.head, limit);
    await handBodyOn(await readBody(exchange, limit, held));
  } finally {
    held.release();
  }
}

async function handOn(exchange: Exchange, body: Buffer, gateway: AdminForwardParts): Promise<void> {
  const { current, pools, controlPlane, managedState, failedLogins } = gateway;
  const { request, response, id } = exchange;
  // The origin was compared with the Host of this request; the control plane sees another one.
  const { [clientAddressHeader]: _, origin: __, ...given } = endToEndHeaders(request.headers);
  const address = controlPlane.signAddress(exchange.clientAddress);
  const headers = {
    ...given,
    ...headersOfBrowser(request, current().trustedProxies),
    'x-request-id': id,
    ...(address === undefined ? {} : { [clientAddressHeader]: address }),
  };
  const gone = new AbortController();
  const isStream = pathOf(request.url ?? '') === livePath;
  // A stream has no end of its own: when this process ends, its client goes on elsewhere.
  const draining = isStream ? { draining: () => gone.abort() } : {};
  exchange.waiting = { gone: () => gone.abort(), ...draining };
  const quiet = isStream ? { quietMs } : {};
  const forwarded = { method: request.method ?? 'GET', path: request.url ?? '/admin', headers, body, ...quiet };
  const answer = await forward(pools.get(controlPlane), forwarded, controlPlane.timeoutMs, gone.signal).catch(
    (error: unknown) => {
      throw exchange.gone ? refusal('client_left') : unavailable(error, forwarded.method);
    },
  );
  // A login tries a key, too, and only the control plane looks at it.
  if (answer.statusCode === 401 && isLogin(request.method, pathOf(forwarded.path)))
    failedLogins.fail(exchange.clientAddress, exchange.startedAtMs);
  const revision = isRead(forwarded.method) ? undefined : readStateRevision(answer.headers[stateRevisionHeader]);
  const all = { state: managedState(), siblings: gateway.siblings };
  const isEnforced = revision === undefined ? undefined : await awaitEnforcedByAll(all, revision, gone.signal);
  response.writeHead(answer.statusCode, {
    ...endToEndHeaders(answer.headers),
    // Several cookies are several lines: a comma may stand within one.
    ...(answer.headers['set-cookie'] === undefined ? {} : { 'set-cookie': answer.headers['set-cookie'] }),
    ...fixedHeaders,
    ...(isEnforced === undefined ? {} : { [enforcedHeader]: String(isEnforced) }),
    'x-request-id': id,
  });
  if (isStream) return passOn(answer.body, response, gone.signal);
  // An incomplete answer cuts the connection, so that it is never taken for a complete one.
  await pipeline(answer.body, response).catch(() => undefined);
}

/** Events as they come, as fast as the client takes them. However the stream ends, its client connects again. */
async function passOn(body: AsyncIterable<Buffer>, response: ServerResponse, signal: AbortSignal): Promise<void> {
  try {
    for await (const chunk of body) if (!response.write(chunk)) await once(response, 'drain', { signal });
  } catch {
    // The control plane has ended it, or is gone; or the client has left.
  }
  if (!response.destroyed) response.end();
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** A write that was sent may be carried out after this answer, so it must not sound as if nothing happened. */
function unavailable(error: unknown, method: string): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const isUnsent = neverConnected(error);
  const lost = isUnsent ? 'nothing answers there' : 'the connection broke off';
  const reason = /TIMEOUT/.test(code) ? 'it did not answer in time' : lost;
  const kept = `${isRead(method) ? 'The' : 'Nothing was changed: the'} limits in force stay in force`;
  const doubtful = 'The write may still happen, so read the current state before you try again';
  const consequence = isRead(method) || isUnsent ? kept : doubtful;
  return refusal('control_plane_unavailable', { fill: { reason, consequence }, headers: { 'retry-after': '1' } });
}
