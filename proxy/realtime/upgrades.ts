// The sessions of a server: those that are being opened, and those that are open.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { originForm, pathOf } from '../call/head.ts';
import { refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { asksForWebSocket } from '../http/accept-web-socket.ts';
import type { Exchange } from '../http/exchange.ts';
import { refuseForeign } from '../http/refuse-foreign.ts';
import { type SessionCounts, type SessionEnd, sessionEnds } from '../tallies/session-counts.ts';
import type { Closing } from './closing.ts';
import { Handshake } from './handshake.ts';
import { OpenSession, sessionPath } from './open-session.ts';
import { SessionSlots } from './session-slots.ts';

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

export function createUpgrades(gateway: Gateway): Upgrades {
  const open = new Set<OpenSession>();
  const ended = Object.fromEntries(sessionEnds.map((end) => [end, 0])) as Record<SessionEnd, number>;
  const slots = new SessionSlots();
  let isDraining = false;

  const check = (exchange: Exchange): void => {
    const { head, request } = exchange;
    if (head.fault) throw head.fault;
    const { ownNames, overload } = gateway;
    if (ownNames !== undefined) refuseForeign(exchange, ownNames, gateway.current().crossOrigin?.origins);
    request.url = originForm(request.url ?? '', head.host);
    const path = pathOf(request.url);
    if (path !== sessionPath) throw refusal('route_not_found', { fill: { method: 'GET', path } });
    if (isDraining) throw refusal('draining', { headers: { 'retry-after': '1' } });
    if (overload.isOverloaded()) throw refusal('overloaded', { headers: { 'retry-after': '1' } });
  };
  return {
    attach(server) {
      server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
        const over = (closing: Closing | undefined): void => {
          open.delete(session);
          if (closing !== undefined) ended[closing.end] += 1;
        };
        const session = new OpenSession(new Handshake(request, socket, head), gateway, { slots, over });
        open.add(session);
        void session.open(check);
      });
    },
    counts: () => ({ open: open.size, ended }),
    size: () => open.size,
    drain() {
      isDraining = true;
    },
    end() {
      for (const session of open) session.end();
    },
  };
}
