// TLS in front of an HTTP server, on the port that this listens on: connections go to it once their handshake is over. Without TLS they go
// to it at once. A renewed certificate holds for connections that come later.
import { constants } from 'node:crypto';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { plainAddress } from '../../domain/keys/client-address.ts';
import type { Log } from '../log-events.ts';
import type { Commit } from '../put-in-force.ts';
import { noteClientCertificate } from './client-certificate.ts';
import { type HandshakeCounts, type HandshakeOutcome, Handshakes } from './handshakes.ts';
import type { SecureSettings } from './secure-settings.ts';

export interface SecureListenerParts {
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

/** The server behind. */
export interface SecureHost {
  /** Told of each connection behind its handshake, before HTTP is spoken on it. */
  begun(socket: Socket): void;
  /** Ends a connection behind the requests that have come over it: other client certificates are trusted from now on. */
  letGo(socket: Socket): void;
}

/** Between two lines about handshakes that failed for one reason. Milliseconds. */
const lineMs = 10_000;

/** How node's sockets with TLS name the connection under them; it has no public name. */
interface Secured {
  readonly _parent?: Socket;
}

export class SecureListener {
  readonly #parts: SecureListenerParts;
  readonly #handshakes: Handshakes;
  readonly #open = new Set<TLSSocket>();
  readonly #toldMs = new Map<HandshakeOutcome, number>();
  /** The last ones in force. */
  #settings: SecureSettings | undefined;
  /** The configuration in force has TLS. */
  #isWanted = false;
  /** Makes the handshakes of new connections. It never listens. */
  #engine: TlsServer | undefined;
  /** Fixed when the server begins to listen; undefined before. */
  #isSecure: boolean | undefined;
  #isTold = false;
  /** Serves HTTP on a connection. */
  #serve: (socket: Socket) => void = () => undefined;
  #host: SecureHost = { begun: () => undefined, letGo: (socket) => socket.destroySoon() };

  constructor(parts: SecureListenerParts) {
    this.#parts = parts;
    this.#handshakes = new Handshakes(
      (socket) => this.#engine?.emit('connection', socket),
      (outcome, socket, reason) => this.#tell(outcome, socket, reason),
    );
  }

  /** Puts itself in front of the server, which must not listen yet. */
  attach(server: Server, host: SecureHost = this.#host): void {
    const [serve] = server.listeners('connection');
    if (serve === undefined) throw new Error('the server does not take connections');
    server.removeListener('connection', serve);
    this.#serve = (socket) => serve.call(server, socket);
    this.#host = host;
    server.on('connection', (socket: Socket) => {
      if (this.#isSecure === true) this.#handshakes.take(socket);
      else this.#serve(socket);
    });
  }

  /** Changes nothing; throws for a certificate that cannot be used. The function that it gives puts the settings in force. */
  prepare(settings: SecureSettings | undefined): Commit {
    const before = this.#settings;
    const isSame = settings === undefined || isDeepStrictEqual(settings, before);
    const engine = isSame ? undefined : this.#makeEngine(settings);
    return () => {
      this.#isWanted = settings !== undefined;
      if (this.#isSecure !== undefined) this.#tellOfRestart();
      // Without settings the last ones stay: clients have addresses with https, and keys must not be sent in the clear.
      if (engine === undefined) return;
      this.#engine = engine;
      this.#settings = settings;
      if (before === undefined || isSameTrust(before, settings)) return;
      for (const socket of this.#open) this.#host.letGo(socket);
    };
  }

  /** To be called before the server listens: from now on it is fixed whether there is TLS. Gives the scheme of addresses. */
  begin(): 'http' | 'https' {
    this.#isSecure = this.#isWanted;
    return this.#isSecure ? 'https' : 'http';
  }

  /** Undefined: there is no TLS. */
  counts(): HandshakeCounts | undefined {
    return this.#isSecure !== true ? undefined : { open: this.#handshakes.open, outcomes: this.#handshakes.outcomes };
  }

  /** Ends handshakes that are under way. */
  drain(): void {
    this.#handshakes.closeAll();
  }

  #makeEngine({ material, minVersion, mode }: SecureSettings): TlsServer {
    const { certificate, key, authorities, revocations } = material;
    const engine = createServer({
      cert: certificate,
      key,
      // Without a list the authorities of the system would be read.
      ca: authorities ?? [],
      ...(revocations === undefined ? {} : { crl: revocations }),
      minVersion,
      requestCert: mode !== undefined,
      rejectUnauthorized: mode === 'require',
      ALPNProtocols: ['http/1.1'],
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    });
    engine.on('secureConnection', (socket: TLSSocket & Secured) => {
      const { _parent: raw } = socket;
      if (raw !== undefined) this.#handshakes.end(raw, 'completed');
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
      if (mode !== undefined) noteClientCertificate(socket);
      this.#host.begun(socket);
      this.#serve(socket);
    });
    engine.on('tlsClientError', (error: Error & { code?: string }, socket: TLSSocket & Secured) => {
      const { _parent: raw, authorizationError } = socket;
      if (raw === undefined) return;
      // Typed as an error, it is a code.
      const refused = authorizationError as unknown as string | null | undefined;
      this.#handshakes.end(raw, ...outcomeOf(error.code ?? '', refused ?? undefined));
    });
    return engine;
  }

  #tellOfRestart(): void {
    const isWanted = this.#isWanted;
    const isDifferent = isWanted !== this.#isSecure;
    if (isDifferent && !this.#isTold)
      this.#parts.log.warn(
        isWanted
          ? 'tls is configured now, but this listener speaks plain HTTP until the process starts again'
          : 'tls is not configured any more, but this listener keeps speaking it, with the last certificate, until the process starts again',
      );
    this.#isTold = isDifferent;
  }

  /** A line every ten seconds for each kind at most. */
  #tell(outcome: HandshakeOutcome, socket: Socket, reason: string): void {
    if (outcome === 'left') return;
    const nowMs = this.#parts.nowMs();
    if (nowMs < (this.#toldMs.get(outcome) ?? Number.NEGATIVE_INFINITY) + lineMs) return;
    this.#toldMs.set(outcome, nowMs);
    const fields = { outcome, client_address: plainAddress(socket.remoteAddress ?? ''), reason };
    this.#parts.log.warn(
      fields,
      'a TLS handshake failed; further ones like it are counted and not told for ten seconds',
    );
  }
}

function isSameTrust(one: SecureSettings, other: SecureSettings | undefined): boolean {
  return (
    one.mode === other?.mode &&
    one.material.authorities === other?.material.authorities &&
    one.material.revocations === other?.material.revocations
  );
}

/** `code`: of the error; `refused`: why the certificate of the client cannot be verified. */
function outcomeOf(code: string, refused: string | undefined): [HandshakeOutcome, string] {
  if (refused !== undefined) return ['client_certificate', refused];
  if (code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE') return ['client_certificate', 'none was shown'];
  if (code === 'ECONNRESET' || code === 'EPIPE') return ['left', ''];
  const reason = code
    .replace(/^ERR_SSL_/, '')
    .replaceAll('_', ' ')
    .toLowerCase();
  return [/alert (unknown ca|certificate|bad certificate)/.test(reason) ? 'refused_by_client' : 'failed', reason];
}
