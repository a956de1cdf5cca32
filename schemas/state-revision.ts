// The header with the revision that a write has led to, from the control plane to the proxy that passes the answer on.

/** In answers to writes of operators: the revision of the state store after the write. */
export const stateRevisionHeader = 'x-gateway-state-revision';

/** The header of an answer; none without a revision. */
export function stateRevision(revision: number | undefined): Record<string, string> {
  return revision === undefined ? {} : { [stateRevisionHeader]: String(revision) };
}

/** The revision of a header; undefined when there is none. */
export function readStateRevision(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^[0-9]{1,15}$/.test(header) ? Number(header) : undefined;
}
