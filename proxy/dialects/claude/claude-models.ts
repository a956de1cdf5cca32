// The abilities of Claude's generations, by the model's name as Anthropic, Google and Amazon write it.

export interface ClaudeTraits {
  /** It can be asked to think. */
  readonly canThink: boolean;
  /** It decides itself how much it thinks, and is told an effort; older ones are told a budget. */
  readonly thinksAdaptively: boolean;
  /** It thinks unless it is told not to. */
  readonly thinksByDefault: boolean;
  /** It cannot be told not to think. */
  readonly alwaysThinks: boolean;
  /** The value that switches thinking off. */
  readonly offType: 'disabled' | 'between_tools';
  /** A tool call can be forced. */
  readonly canBeForced: boolean;
  /** It continues a started answer (prefill). */
  readonly takesPrefill: boolean;
  /** It knows the effort `xhigh`, between `high` and `max`. */
  readonly knowsXhigh: boolean;
  /** It takes temperature, top_p and top_k. */
  readonly hasSampling: boolean;
  /** It takes top_p only where there is no temperature, and the other way round. */
  readonly takesOneSampling: boolean;
  /** It takes instructions in the middle of a conversation, behind a turn of the user. */
  readonly takesSystemTurns: boolean;
}

/**
 * `claude-opus-4-6`, `claude-sonnet-4-20250514`, `claude-opus-4-6@default`, `claude-sonnet-4.5`; the former order, `claude-3-7-sonnet`; and
 * `claude-v2`. A minor version has one digit or two, a date eight.
 */
const numbered = /claude-(?:[a-z]+-)*v?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/;
const alwaysThinking = /claude-(mythos|fable)/;
/** Releases that refuse what others of their family take (platform.claude.com/docs/en/models, "What's new"). */
const opus55 = /claude-opus-5[-.]5/;
const sonnet55 = /claude-sonnet-5[-.]5/;
const unforced = /claude-(?:(?:opus|sonnet)-5[-.]5|(?:mythos|fable)-5[-.]1)/;

/** Whether a model id names a Claude. */
export function isClaude(model: string): boolean {
  return /claude/i.test(model);
}

/**
 * The version in a model's name as a number: 4.6 is 406. Infinity for a Claude without a number, which is the newest; 0
 * for any other model.
 */
export function claudeVersionOf(model: string): number {
  if (!isClaude(model)) return 0;
  const found = numbered.exec(model.toLowerCase());
  return found === null ? Number.POSITIVE_INFINITY : Number(found[1]) * 100 + Number(found[2] ?? 0);
}

/** The abilities of a model. Another vendor's model counts as the oldest Claude. */
export function claudeTraitsOf(model: string): ClaudeTraits {
  const version = claudeVersionOf(model);
  const name = model.toLowerCase();
  return {
    canThink: version >= 307,
    thinksAdaptively: version >= 406,
    thinksByDefault: version >= 500,
    alwaysThinks: alwaysThinking.test(name) || opus55.test(name),
    offType: sonnet55.test(name) ? 'between_tools' : 'disabled',
    canBeForced: !unforced.test(name),
    takesPrefill: version < 406,
    knowsXhigh: version >= 407,
    hasSampling: version < 407,
    takesOneSampling: version >= 401,
    takesSystemTurns: version >= 408,
  };
}
