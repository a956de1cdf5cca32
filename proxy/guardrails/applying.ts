// Which guardrails hold for a request: for its caller, and for the models that it names or may be sent to.
import { isWithin } from '../../schemas/user-path.ts';
import type { Guardrail } from './guardrail.ts';

/** Where a request may be sent. */
export interface NamedTargets {
  /** The alias or family that declares the name. */
  readonly source: string;
  readonly targets: readonly { readonly model: string; readonly upstream: { readonly name: string } }[];
}

const none: readonly Guardrail[] = [];

/** Those for a caller of this user path who asks for this model, in their order. */
export function guardrailsFor(
  guardrails: readonly Guardrail[],
  userPath: string,
  model: string,
  route: NamedTargets,
): readonly Guardrail[] {
  if (guardrails.length === 0) return none;
  return guardrails.filter((guardrail) => isFor(guardrail, userPath) && isAbout(guardrail, model, route));
}

/** Whether a guardrail is enforced for every request of a caller, whatever model it asks. */
export function alwaysGuarded(guardrails: readonly Guardrail[], userPath: string): boolean {
  return guardrails.some((each) => each.mode === 'enforce' && each.models === undefined && isFor(each, userPath));
}

function isFor({ userPaths }: Guardrail, userPath: string): boolean {
  return userPaths === undefined || userPaths.some((path) => isWithin(userPath, path));
}

function isAbout({ models }: Guardrail, model: string, { source, targets }: NamedTargets): boolean {
  if (models === undefined || models.has(model) || models.has(source)) return true;
  return targets.some((target) => models.has(target.model) || models.has(`${target.upstream.name}/${target.model}`));
}
