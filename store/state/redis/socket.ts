// One socket to a node of Redis: plain or TLS, its replies checked before the client reads them.
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectSecure, createSecureContext, type SecureContext } from 'node:tls';
import type { RedisAddress, RedisCertificates, RedisNode } from './address.ts';
import { AbsurdAnswer, ReplyGuard } from './guard.ts';

/** `onRefusal` is called before the socket is destroyed because of what the node answered. */
export function openSocket(
  { host, port }: RedisNode,
  { isTls, certificates }: Pick<RedisAddress, 'isTls' | 'certificates'>,
  onRefusal: (problem: Error) => void = () => undefined,
): Socket {
  const socket = isTls ? connectSecure({ host, port, ...trustIn(certificates) }) : connectPlain({ host, port });
  guard(socket, onRefusal);
  return socket;
}

/** The words of an error. Those of OpenSSL come with numbers and places in its source, and Node adds advice on its own options. */
export function wordsOf(error: Error): string {
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  const isOfTls = typeof code === 'string' && code.startsWith('ERR_SSL');
  return isOfTls && typeof reason === 'string' ? reason : error.message.replace(/; if the root CA is .*$/, '');
}

/** Made once for all connections of an address. */
const contexts = new WeakMap<RedisCertificates, SecureContext>();

/** Without certificates of its own, a connection trusts the authorities that this process trusts at that time. */
function trustIn(certificates: RedisCertificates): { readonly secureContext?: SecureContext } {
  const { ca, cert, key } = certificates;
  if (ca === undefined && cert === undefined && key === undefined) return {};
  let secureContext = contexts.get(certificates);
  secureContext ??= createSecureContext({
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  });
  contexts.set(certificates, secureContext);
  return { secureContext };
}

/** Bytes that the guard rejects never reach the socket's stream, so they cannot be read. */
function guard(socket: Socket, onRefusal: (problem: Error) => void): void {
  const replies = new ReplyGuard();
  const push = socket.push.bind(socket);
  socket.push = (chunk: Uint8Array | null, encoding) => {
    const problem = chunk === null ? undefined : replies.take(chunk);
    if (problem === undefined) return push(chunk, encoding);
    const error = new AbsurdAnswer(problem);
    onRefusal(error);
    socket.destroy(error);
    return false;
  };
}
