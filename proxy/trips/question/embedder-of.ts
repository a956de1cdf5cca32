// Calls an embedding model for the semantic cache, in the name of one request.
import { onlyPath } from '../../../domain/conditions/facts.ts';
import type { Embedder } from '../../cache/embedding.ts';
import { routeIdentity } from '../../cache/route-identity.ts';
import type { Exchange } from '../../http/exchange.ts';
import { visibleRoute } from '../../stages/resolve.ts';
import { askModel } from './ask-model.ts';
import { type AuxiliaryParts, callerOf, type ServedRequest } from './question.ts';

const operation = 'embeddings';
const asker = { purpose: 'cache', name: 'semantic' } as const;

/** Questions end when the client of the request leaves. */
export function embedderOf(
  model: string,
  served: ServedRequest & { readonly exchange: Pick<Exchange, 'left'> },
  parts: AuxiliaryParts,
): Embedder {
  const route = visibleRoute(served.snapshot, model, onlyPath(callerOf(asker, served).userPath));
  return {
    identity: route === undefined ? model : `${model} ${routeIdentity(route, operation).text}`,
    embed(text, timeoutMs) {
      // Shorter than a list of numbers, and as exact as what is compared.
      const body = { model, input: text, encoding_format: 'base64' };
      return askModel({ ...asker, operation, body, timeoutMs, signal: served.exchange.left }, served, parts);
    },
  };
}
