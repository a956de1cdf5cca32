// How a refusal is written: the envelope of model endpoints, and the flat error of the admin API (spec, Error envelope, Admin error shape).
import type { Refusal } from '../errors.ts';

/** The body of the envelope, as the spec's "Error envelope" fixes it. */
export function envelope(refused: Refusal): string {
  return JSON.stringify(envelopeOf(refused));
}

/** The envelope as an object. */
export function envelopeOf({ code, message, param, type, provider, further }: Refusal): { readonly error: object } {
  const named = provider === undefined ? {} : { provider };
  return { error: { ...further, code, message, param, type, ...named } };
}

/** A refusal as the flat admin error, for answers of the proxy itself under /admin (spec: Admin error shape). */
export function adminError({ code, message, param, type, status }: Refusal): string {
  return JSON.stringify({ code, message, ...(param === null ? {} : { param }), status_code: status, type });
}
