// The query of a request of the realtime API.
import { pathOf } from '../call/head.ts';
import { refusal } from '../errors.ts';

/** The members that a provider is told as they are; the model is another one there, and what else it may understand is not the client's to say. */
const passed: ReadonlySet<string> = new Set(['intent']);
/** It names a call of whoever knows it. */
const foreignCall = 'call_id';

/** Throws 400 `invalid_parameter` when it names a call to join: whose it is, is not known here. */
export function queryOf(url: string): URLSearchParams {
  const query = new URLSearchParams(url.slice(pathOf(url).length + 1));
  if (!query.has(foreignCall)) return query;
  const because = 'is not taken: a session cannot join a call. Open one with "model"';
  throw refusal('invalid_parameter', { param: foreignCall, fill: { param: foreignCall, because } });
}

/** The parameters of the query that a provider is told besides the model. */
export function furtherQuery(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => passed.has(name)));
}
