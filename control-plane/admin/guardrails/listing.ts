// The listing of guardrails: each with the counts of its verdicts that proxies report.
import { kindOf } from '../../../domain/guardrails/merge-guardrails.ts';
import type { Guardrail } from '../../../schemas/types.ts';
import type { VerdictCount } from '../../../store/state/heartbeat-counts.ts';
import type { Fleet } from '../../fleet.ts';

/** Gives the members of a row of `schemas/admin/guardrails.schema.json` that are about the guardrail itself. */
export function guardrailRows({ fleet }: { readonly fleet: Pick<Fleet, 'proxies'> }): (guardrail: Guardrail) => object {
  const live = fleet.proxies().filter(({ isLive }) => isLive);
  const verdicts = Map.groupBy(
    live.flatMap(({ body }) => body.verdicts ?? []),
    ([name]) => name,
  );
  return (guardrail) => {
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
      verdicts: countsOf(verdicts.get(name) ?? []),
    };
  };
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
