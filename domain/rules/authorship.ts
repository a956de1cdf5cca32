// The author, time, reason and end of what an operator set. Documents of rules and budgets have them.
import { parseMoment } from '../../schemas/formats/moment.ts';

/** Times are RFC 3339 texts in UTC. */
export interface Authorship {
  /** The operator may only tighten: where the configuration is stricter, it stays in force. */
  readonly tightens?: true;
  /** Why the operator set it. */
  readonly reason?: string;
  /** From this moment on it does not exist. */
  readonly expiresAt?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** `master_key`, or the id of a managed key. */
  readonly updatedBy: string;
}

/** The authorship in the body of a document; undefined when it has none. */
export function readAuthorship(body: Readonly<Record<string, unknown>>): Authorship | undefined {
  const { tightens, reason, expires_at: expiresAt } = body;
  const { created_at: createdAt, updated_at: updatedAt, updated_by: updatedBy } = body;
  if (!(tightens === undefined || tightens === true)) return undefined;
  if (!(reason === undefined || typeof reason === 'string')) return undefined;
  if (!(expiresAt === undefined || isMoment(expiresAt))) return undefined;
  if (!isMoment(createdAt) || !isMoment(updatedAt) || typeof updatedBy !== 'string') return undefined;
  return {
    ...(tightens === undefined ? {} : { tightens }),
    ...(reason === undefined ? {} : { reason }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    createdAt,
    updatedAt,
    updatedBy,
  };
}

/** The inverse of `readAuthorship`. */
export function authorshipBody({ tightens, createdAt, updatedAt, updatedBy, ...said }: Authorship): object {
  return {
    ...(tightens === undefined ? {} : { tightens }),
    ...(said.reason === undefined ? {} : { reason: said.reason }),
    ...(said.expiresAt === undefined ? {} : { expires_at: said.expiresAt }),
    created_at: createdAt,
    updated_at: updatedAt,
    updated_by: updatedBy,
  };
}

/** Who set it, why, and until when, in the words of log lines. */
export function authorFacts({ reason, expiresAt, updatedBy }: Authorship): object {
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    updated_by: updatedBy,
  };
}

/** The Unix millisecond from which it does not exist; infinite when it does not expire. */
export function expiryMs({ expiresAt }: Pick<Authorship, 'expiresAt'>): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : (parseMoment(expiresAt) ?? Number.POSITIVE_INFINITY);
}

function isMoment(value: unknown): value is string {
  return typeof value === 'string' && parseMoment(value) !== undefined;
}
