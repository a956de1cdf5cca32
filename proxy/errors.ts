// A refusal: stages throw entries of error-table.ts, http/answer-refusal.ts renders them (spec: Error envelope).

import type { BudgetScope } from '../domain/budgets/budget.ts';
import type { Rule } from '../domain/rules/rule.ts';
import type { Diagnosis } from '../domain/targets/failure-kind.ts';
import { type ErrorEntry, type Fill, PlaneRefusal, worded } from '../plane/refusal.ts';
import type { ErrorType } from '../schemas/error-type.ts';
import { errors } from './error-table.ts';

export type ErrorCode = keyof typeof errors;

/** A rate limit, or a budget, as the log speaks of it; `label`: its name, else its id. */
export interface RefusingRule extends Pick<Rule, 'id'> {
  readonly scope: Rule['scope'] | BudgetScope;
  readonly label: string;
}

/** Details that may be added to a table entry. */
export interface Details {
  readonly param?: string;
  /** Name of the upstream provider that produced the error; never set for errors of the gateway itself. */
  readonly provider?: string;
  readonly fill?: Fill;
  readonly headers?: Readonly<Record<string, string>>;
  /** The rate limit or budget that refuses; for the log. */
  readonly rule?: RefusingRule;
  /** Members of the envelope beyond its own; none may have the name of one of them. */
  readonly further?: Readonly<Record<string, unknown>>;
  /** The status that a provider gave the error within an answer of success; absent: none. */
  readonly saidStatus?: number | undefined;
  /** What the provider's error means; absent: it is not one of a provider. */
  readonly diagnosis?: Diagnosis | undefined;
}

/** A refusal on its way to the client: thrown by stages, rendered by `http/answer-refusal.ts`. */
export class Refusal extends PlaneRefusal<string | null> {
  readonly param: string | null;
  readonly provider: string | undefined;
  readonly rule: RefusingRule | undefined;
  /** Further members of the envelope: what a provider said beyond ours. */
  readonly further: Readonly<Record<string, unknown>>;
  /** The status that a provider gave the error within an answer of success; undefined: none. */
  readonly saidStatus: number | undefined;
  /** What the provider's error means; undefined: it is not one of a provider. */
  readonly diagnosis: Diagnosis | undefined;

  constructor(entry: ErrorEntry, code: string | null, details: Details = {}) {
    super(entry, code, details.headers);
    this.param = details.param ?? null;
    this.provider = details.provider;
    this.rule = details.rule;
    this.further = details.further ?? {};
    this.saidStatus = details.saidStatus;
    this.diagnosis = details.diagnosis;
  }
}

/** A refusal from the table. Placeholders of the message are filled and made harmless (no control characters, at most 200 characters each). */
export function refusal(code: ErrorCode, details?: Details): Refusal {
  if (details !== undefined) return filled(code, details);
  const known = plain.get(code) ?? filled(code, {});
  plain.set(code, known);
  return known;
}

/** Refusals that are always the same, made once: an Error takes 50 µs, for its stack. */
const plain = new Map<ErrorCode, Refusal>();

function filled(code: ErrorCode, details: Details): Refusal {
  return new Refusal(worded(errors[code], details.fill), code, details);
}

/** A refusal with the words of an upstream provider (data plane errors, upstream → client). */
export function upstreamRefusal(
  status: number,
  type: ErrorType,
  said: { message: string; code: string | null; param: string | null },
  details: Pick<Details, 'headers' | 'further' | 'saidStatus' | 'diagnosis'> & { readonly provider: string },
): Refusal {
  return new Refusal({ status, type, message: said.message }, said.code, {
    ...details,
    ...(said.param === null ? {} : { param: said.param }),
  });
}

/** Turns anything thrown into a refusal: anything but a `Refusal` becomes `internal_error`, which says only the request id. */
export function asRefusal(thrown: unknown, requestId: string): Refusal {
  return thrown instanceof Refusal ? thrown : refusal('internal_error', { fill: { request_id: requestId } });
}
