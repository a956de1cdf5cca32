// The sessions of a server: those that are being opened, and those that are open.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { originForm, pathOf } from '../call/head.ts';
import { refusal } from '../errors.ts';
import { asksForWebSocket } from '../http/accept-web-socket.ts';
import { type Exchange, openExchange } from '../http/exchange.ts';
import { refuseCertificate } from '../http/refuse-certificate.ts';
import { refuseForeign } from '../http/refuse-foreign.ts';
import type { Closing } from '../realtime/closing.ts';
import { sessionPath } from '../realtime/doors.ts';
import { Handshake } from '../realtime/handshake.ts';
import { SessionSlots } from '../realtime/session-slots.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { type SessionCounts, type SessionEnd, sessionEnds } from '../tallies/session-counts.ts';
import { travel } from './pipeline.ts';
import { type SessionParts, SessionTrip, sessionKind } from './session.ts';

/** The parts that sessions need, and the check of every upgrade. */
export type UpgradeParts = SessionParts & {
  /** The snapshot in force. */
  readonly current: () => Snapshot;
  /** Without a master key: the only names in `Host` that are served. */
  readonly ownNames: ReadonlySet<string> | undefined;
};

export interface Upgrades {
  /** Serves the upgrades of a server. */
  attach(server: Server): void;
  counts(): SessionCounts;
  /** Sessions, and upgrades on their way. */
  size(): number;
  /** Begins no more of them. */
  drain(): void;
  /** Ends all of them. */
  end(): void;
}

/** Whether a request is one for a session: then it is no longer HTTP. */
export function isUpgrade(request: IncomingMessage): boolean {
  const path = pathOf(request.url ?? '');
  // A target with a scheme and a host is looked at more closely later.
  return asksForWebSocket(request) && (path === sessionPath || (!path.startsWith('/') && path.endsWith(sessionPath)));
}

/** Returns the part that takes, counts and ends sessions over WebSocket. */
export function createUpgrades(gateway: UpgradeParts): Upgrades {
  const open = new Set<SessionTrip>();
  const ended = Object.fromEntries(sessionEnds.map((end) => [end, 0])) as Record<SessionEnd, number>;
  let isDraining = false;
  const check = (exchange: Exchange): void => {
    const { head, request } = exchange;
    refuseCertificate(exchange, gateway.certificates);
    if (head.fault) throw head.fault;
    const { ownNames } = gateway;
    if (ownNames !== undefined) refuseForeign(exchange, ownNames, gateway.current().crossOrigin?.origins);
    request.url = originForm(request.url ?? '', head.host);
    const path = pathOf(request.url);
    if (path !== sessionPath) throw refusal('route_not_found', { fill: { method: 'GET', path } });
    if (isDraining) throw refusal('draining', { headers: { 'retry-after': '1' } });
  };
  const over = (trip: SessionTrip, closing: Closing | undefined): void => {
    open.delete(trip);
    if (closing !== undefined) ended[closing.end] += 1;
  };
  const kind = sessionKind({ slots: new SessionSlots(), check, over }, gateway);
  return {
    attach(server) {
      server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
        const handshake = new Handshake(request, socket, head);
        const snapshot = gateway.current();
        const exchange = openExchange(handshake.request, handshake.response, snapshot, gateway.nowMs());
        const trip = new SessionTrip(handshake, exchange, snapshot);
        open.add(trip);
        void travel(trip, kind, gateway);
      });
    },
    counts: () => ({ open: open.size, ended }),
    size: () => open.size,
    drain() {
      isDraining = true;
    },
    end() {
      for (const trip of open) trip.end();
    },
  };
}
