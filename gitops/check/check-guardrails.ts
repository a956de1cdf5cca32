// Checks of the guardrails section that the schema cannot express: names, user paths, phases, patterns, JSON Schemas and addresses.
import { guardrailMistakes, webhookProblem } from '../../domain/guardrails/mistakes.ts';
import { normaliseUserPath } from '../../domain/user-path.ts';
import type { Config, Guardrail } from '../../schemas/types.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

/** Says a problem at a place of one guardrail. */
type Say = (place: Path, message: string) => Problem;

/** Checks every guardrail. */
export function checkGuardrails(guardrails: Config['guardrails'], sources: Sources): Problem[] {
  const names = new Map<string, number>();
  return guardrails.flatMap((guardrail, index) => {
    const at = ['guardrails', index];
    const say: Say = (place, message) => sources.problem([...at, ...place], message);
    const twin = names.get(guardrail.name);
    if (twin === undefined) names.set(guardrail.name, index);
    const first = twin === undefined ? '' : sources.place(['guardrails', twin, 'name']);
    return [
      ...(twin === undefined
        ? []
        : [say(['name'], `a guardrail ${quote(guardrail.name)} is already declared in ${first}`)]),
      ...checkPaths(guardrail, (place) => sources.isUnknown([...at, ...place]), say),
      ...guardrailMistakes(guardrail).map(({ place, message }) => say(place, message)),
      ...checkUrl(guardrail, at, sources),
    ];
  });
}

function checkPaths({ user_paths: paths = [] }: Guardrail, isUnknown: (place: Path) => boolean, say: Say): Problem[] {
  return paths.flatMap((text, index) => {
    const { problem } = isUnknown(['user_paths', index]) ? {} : normaliseUserPath(text);
    return problem === undefined ? [] : [say(['user_paths', index], `the user path ${quote(text)} ${problem}`)];
  });
}

function checkUrl({ webhook }: Guardrail, at: Path, sources: Sources): Problem[] {
  const place = [...at, 'webhook', 'url'];
  if (webhook === undefined || sources.isUnknown(place)) return [];
  const problem = webhookProblem(webhook.url);
  return problem === undefined ? [] : [sources.problem(place, problem)];
}
