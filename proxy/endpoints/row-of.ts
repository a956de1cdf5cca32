// The row by which a call is served: that of its endpoint, or the one for calls that are written otherwise.
import { memberNamed } from '../bytes/member-named.ts';
import type { Call } from '../call/call.ts';
import type { ModelEndpoint, ModelRow } from './model-endpoints.ts';

/** Looks at the names of members alone. */
export function rowOf(endpoint: ModelEndpoint, call: Pick<Call, 'body' | 'members'>): ModelRow {
  const { otherwise } = endpoint;
  if (otherwise === undefined || has(call, otherwise.lacks) || !has(call, otherwise.has)) return endpoint;
  return otherwise.row;
}

function has({ body, members }: Pick<Call, 'body' | 'members'>, name: string): boolean {
  return memberNamed(body, members, name) !== undefined;
}
