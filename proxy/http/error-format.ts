// How an error is written for the clients of each format. All of them hold the envelope, so that one reader suits every endpoint.
import type { IncomingMessage } from 'node:http';
import { isAdminPath, pathOf } from '../call/head.ts';
import { anthropicErrorType } from '../dialects/messages/kind-of-error.ts';
import type { Refusal } from '../errors.ts';
import { adminError, envelope, envelopeOf } from './error-envelope.ts';

/** The request that is answered. */
interface AnsweredRequest {
  readonly request: Pick<IncomingMessage, 'url' | 'headers'>;
  readonly id: string;
}

/** The body of an error answer. Clients of Anthropic read `type` and `request_id` beside the envelope, also where they list models. */
export function errorBody(refused: Refusal, { request, id }: AnsweredRequest): string {
  const path = pathOf(request.url ?? '');
  if (isAdminPath(path)) return adminError(refused);
  if (!speaksAnthropic(path, request)) return envelope(refused);
  return JSON.stringify(anthropicError(refused, id));
}

/** The event that ends a stream which broke off. */
export function errorEvent(refused: Refusal, { request, id }: AnsweredRequest): string {
  const path = pathOf(request.url ?? '');
  if (isUnder(path, '/v1/messages')) {
    return `event: error\ndata: ${JSON.stringify(anthropicError(refused, id))}\n\n`;
  }
  if (isUnder(path, '/v1/responses')) {
    const { code, message, param } = refused;
    const said = { type: 'error', code, message, param, ...envelopeOf(refused) };
    return `event: error\ndata: ${JSON.stringify(said)}\n\n`;
  }
  return `data: ${envelope(refused)}\n\n`;
}

/** The envelope with the type that Anthropic has for such an error: its SDKs decide by it. */
function anthropicError(refused: Refusal, request_id: string): object {
  const { error } = envelopeOf(refused);
  const { provider_type, ...others } = error as { readonly provider_type?: unknown };
  const type = anthropicErrorType(refused.status, provider_type);
  const foreign = provider_type === undefined || provider_type === type ? {} : { provider_type };
  return { type: 'error', error: { ...others, type, ...foreign }, request_id };
}

/** Whether a client of Anthropic asks: by the endpoint, or by the version it names. */
export function speaksAnthropic(path: string, { headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return isUnder(path, '/v1/messages') || headers['anthropic-version'] !== undefined;
}

function isUnder(path: string, top: string): boolean {
  return path === top || path.startsWith(`${top}/`);
}
