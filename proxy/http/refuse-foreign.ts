// Without a master key every request is let in, so pages of other origins must be kept out.
import { foreignPart } from '../../plane/access/own-names.ts';
import { refusal } from '../errors.ts';
import { isShared } from './cross-origin.ts';
import type { Exchange } from './exchange.ts';

/**
 * Refuses what a browser page of another origin sends to a gateway without a master key, except that the origins of `letIn` may write to
 * the model API. Throws 403 `foreign_host`, `foreign_origin`.
 */
export function refuseForeign(
  { request, head }: Exchange,
  names: ReadonlySet<string>,
  letIn: ReadonlySet<string> | undefined,
): void {
  const { method = '', headers, socket } = request;
  // A page reads and writes over a WebSocket, whatever opens it.
  const reached = {
    method: headers.upgrade === undefined ? method : 'POST',
    host: head.host,
    origin: headers.origin,
    localAddress: socket.localAddress,
  };
  const foreign = foreignPart(reached, names);
  if (foreign === 'host') throw refusal('foreign_host', { fill: { host: head.host ?? '' } });
  if (foreign !== 'origin' || (letIn?.has(headers.origin ?? '') && isShared(request.url ?? ''))) return;
  throw refusal('foreign_origin');
}
