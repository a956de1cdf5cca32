// What a rule that the fleet counts admits while the state store does not answer. Pure.

/** The loosest first: the whole cap at each proxy; its part of the cap; nothing. */
export const lossModes = ['open', 'share', 'closed'] as const;
export type OnStoreLoss = (typeof lossModes)[number];

export function isOnStoreLoss(value: unknown): value is OnStoreLoss {
  return lossModes.some((mode) => mode === value);
}

/** Above 0 when `one` is stricter than `other`, 0 when they are the same. */
export function compareLossModes(one: OnStoreLoss, other: OnStoreLoss): number {
  return lossModes.indexOf(one) - lossModes.indexOf(other);
}

/**
 * Whether `wanted` surely admits no more than what the configuration declares for a rule. Where it declares nothing, what holds for all rules
 * may be anything: then only `closed` does.
 */
export function isNoLooser(wanted: OnStoreLoss, declared: OnStoreLoss | undefined): boolean {
  return wanted === 'closed' || (declared !== undefined && compareLossModes(wanted, declared) >= 0);
}
