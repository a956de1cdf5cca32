// The listing of guardrails: those of the configuration and of operators, with the counts of their verdicts that proxies report. Pure.
import { kindOf, type MergedGuardrail } from '../../../domain/guardrails/merge-guardrails.ts';
import type { Guardrail } from '../../../schemas/types.ts';
import type { VerdictCount } from '../../../store/state/heartbeat-counts.ts';
import { dates, provenance } from '../../managed/listing.ts';

export interface ListingParts {
  readonly merged: readonly MergedGuardrail[];
  /** Where the configuration declares each, by name. */
  readonly declared: ReadonlyMap<string, string>;
  /** Of all live proxies. */
  readonly verdicts: readonly VerdictCount[];
}

/** The rows of `schemas/admin/guardrails.schema.json`. */
export function guardrailRows({ merged, declared, verdicts }: ListingParts): object[] {
  const byName = Map.groupBy(verdicts, ([name]) => name);
  return merged.map((entry) => {
    const { value: guardrail, manual } = entry;
    const { name, mode, order, user_paths, models, roles } = guardrail;
    return {
      name,
      kind: kindOf(guardrail),
      mode,
      order,
      on: phasesOf(guardrail),
      ...(roles === undefined ? {} : { roles }),
      ...(user_paths === undefined ? {} : { user_paths }),
      ...(models === undefined ? {} : { models }),
      settings: settingsOf(guardrail),
      ...provenance(name, entry, declared),
      verdicts: countsOf(byName.get(name) ?? []),
      ...dates(manual),
    };
  });
}

function phasesOf(guardrail: Guardrail): readonly string[] {
  const { on, schema, pii } = guardrail;
  if (on !== undefined) return on;
  if (schema !== undefined) return ['output'];
  return pii?.action === 'mask' ? ['input', 'output'] : ['input'];
}

/** The settings that cannot hold a secret. The path and query of an address can, and a part of it that a variable fills in. */
function settingsOf(guardrail: Guardrail): object {
  if (guardrail.webhook === undefined) return guardrail[kindOf(guardrail)] ?? {};
  const { url, headers: _, secret: __, ...settings } = guardrail.webhook;
  const origin = URL.parse(url)?.origin;
  return { ...(origin === undefined ? {} : { origin }), ...settings };
}

function countsOf(verdicts: readonly VerdictCount[]): object[] {
  const sums = new Map<string, { readonly phase: string; readonly outcome: string; count: number }>();
  for (const [, phase, outcome, count] of verdicts) {
    const sum = sums.get(`${phase} ${outcome}`) ?? { phase, outcome, count: 0 };
    sum.count += count;
    sums.set(`${phase} ${outcome}`, sum);
  }
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum);
}
