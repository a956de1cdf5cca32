// What Claude's generations take, by the model's name as Anthropic, Google and Amazon write it.

export interface ModelTraits {
  /** It decides itself how much it thinks, and is told an effort; older ones are told a budget. */
  readonly isAdaptive: boolean;
  /** It refuses temperature, top_p and top_k. */
  readonly hasOwnSampling: boolean;
  /** It knows the effort `xhigh`. */
  readonly hasHighestEfforts: boolean;
  /** It refuses temperature beside top_p. */
  readonly takesOneSampling: boolean;
  /** It takes instructions in the middle of a conversation, behind a turn of the user. */
  readonly takesSystemTurns: boolean;
}

/** `claude-opus-4-6`, `claude-sonnet-4-20250514`, `claude-opus-4-6@default`; and the former order, `claude-3-7-sonnet`. */
const named = /claude-(?:[a-z]+-)+(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/;
const numbered = /claude-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/;

/** A Claude without a number is the newest; another vendor's model, whose server imitates Anthropic's, is like the oldest. */
export function traitsOf(model: string): ModelTraits {
  const generation = generationOf(model.toLowerCase());
  return {
    isAdaptive: generation >= 406,
    hasOwnSampling: generation >= 407,
    hasHighestEfforts: generation >= 407,
    takesOneSampling: generation >= 401,
    takesSystemTurns: generation >= 408,
  };
}

/** 406 for 4.6. */
function generationOf(model: string): number {
  if (!model.includes('claude')) return 0;
  const found = named.exec(model) ?? numbered.exec(model);
  return found === null ? Number.POSITIVE_INFINITY : Number(found[1]) * 100 + Number(found[2] ?? 0);
}
