// Which guardrails hold for a request: for its caller, and for the models that it names or may be sent to.
import { isWithin } from '../../domain/user-path.ts';
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

/** Whether a guardrail is enforced for a request: for its caller, and for where its model leads. */
export function isGuarded(
  guardrails: readonly Guardrail[],
  { userPath, model, named }: { readonly userPath: string; readonly model: string; readonly named: NamedTargets },
): boolean {
  return guardrailsFor(guardrails, userPath, model, named).some(({ mode }) => mode === 'enforce');
}

/** Whether a guardrail may change or refuse a request of a caller, whatever model it asks. */
export function mayChangeRequests(guardrails: readonly Guardrail[], userPath: string): boolean {
  return guardrails.some((each) => each.mode === 'enforce' && each.input !== undefined && isFor(each, userPath));
}

/** Whether a guardrail is enforced for every request of a caller, whatever model it asks. */
export function alwaysGuarded(guardrails: readonly Guardrail[], userPath: string): boolean {
  return guardrails.some((each) => each.mode === 'enforce' && each.models === undefined && isFor(each, userPath));
}

/** Whether a guardrail for some models is enforced for what a caller asks of a provider; `model` undefined: it is not known, so it may be any. */
export function guardsModel(
  guardrails: readonly Guardrail[],
  userPath: string,
  model: string | undefined,
  provider: string,
): boolean {
  return guardrails.some((each) => {
    const { mode, models } = each;
    if (mode !== 'enforce' || models === undefined || !isFor(each, userPath)) return false;
    if (model === undefined) return true;
    const names = [model, `${provider}/${model}`].map((name) => name.toLowerCase());
    return [...models].some((name) => names.includes(name.toLowerCase()));
  });
}

/** The guardrails that look at answers of a caller, whatever model it asks. */
export function changesAnswers(guardrails: readonly Guardrail[], userPath: string): readonly Guardrail[] {
  if (guardrails.length === 0) return none;
  return guardrails.filter((each) => each.output !== undefined && isFor(each, userPath));
}

function isFor({ userPaths }: Guardrail, userPath: string): boolean {
  return userPaths === undefined || userPaths.some((path) => isWithin(userPath, path));
}

function isAbout({ models }: Guardrail, model: string, { source, targets }: NamedTargets): boolean {
  if (models === undefined || models.has(model) || models.has(source)) return true;
  return targets.some((target) => models.has(target.model) || models.has(`${target.upstream.name}/${target.model}`));
}
