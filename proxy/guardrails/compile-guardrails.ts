// The guardrails of a configuration, compiled and in their order.
import { type GuardrailKind, kindOf, type MergedGuardrail } from '../../domain/guardrails/merge-guardrails.ts';
import { normaliseUserPath } from '../../domain/user-path.ts';
import type { Guardrail as WrittenGuardrail } from '../../schemas/types.ts';
import type { Role } from '../dialects/texts.ts';
import { hookOf, llmChecks, webhookChecks } from './asked-kinds.ts';
import { PatternFinder } from './find/patterns.ts';
import { PersonalFinder } from './find/personal-data.ts';
import { WordFinder } from './find/words.ts';
import type { Checks, FailedVerdict, Guardrail, Phase } from './guardrail.ts';
import { answerFormChecks } from './kinds/answer-form.ts';
import { foundChecks } from './kinds/found-checks.ts';
import { limitsChecks, systemPromptChecks } from './kinds/request-checks.ts';

/** The checks of a guardrail in each phase. */
type Phases = Partial<Record<Phase, Checks>> & Pick<Guardrail, 'hook'> & Partial<Pick<Guardrail, 'isCompiled'>>;

/** Makes what each kind looks at, whichever phases it is for. Throws for what `check-config` refuses. */
const makers: {
  readonly [Kind in GuardrailKind]: (written: NonNullable<WrittenGuardrail[Kind]>, name: string) => Phases;
} = {
  system_prompt: (written) => ({ input: systemPromptChecks(written) }),
  limits: (written) => ({ input: limitsChecks(written) }),
  schema: (written) => ({ output: answerFormChecks(written) }),
  regex: ({ patterns, action, replacement, window }) => {
    const finder = new PatternFinder(patterns, window, 'pattern');
    return both(foundChecks({ finder, action, replacementOf: () => replacement }));
  },
  keywords: ({ words, whole_words: areWhole, action, replacement }) => {
    const finder = new WordFinder({ words, areWhole, reason: 'keyword' });
    return both(foundChecks({ finder, action, replacementOf: () => replacement }));
  },
  pii: ({ kinds, action, replacement }) => {
    const finder = new PersonalFinder(kinds);
    if (action !== 'mask') return both(foundChecks({ finder, action, replacementOf: () => replacement }));
    return {
      input: foundChecks({
        finder,
        action: 'redact',
        replacementOf: ({ reason }, value, { masks }) => masks.placeholderOf(reason, value),
      }),
      output: foundChecks({ finder, action: 'redact', replacementOf: ({ reason }) => `[${reason.toUpperCase()}]` }),
    };
  },
  webhook: (webhook, name) => {
    const hook = hookOf({ name, webhook });
    return { ...both(webhookChecks({ name, webhook }, hook)), hook };
  },
  llm: (llm, name) => both(llmChecks({ name, llm })),
};

const both = (checks: Checks): Phases => ({ input: checks, output: checks });

/** Whose words it looks at where it does not say: a model reads them all. */
const allRoles: ReadonlySet<Role> = new Set(['system', 'user', 'assistant', 'tool']);

/** What is known of the guardrails that the configuration declares, by their names. */
export interface Declared {
  /** Where each is declared. */
  readonly places: ReadonlyMap<string, string>;
  /** Those of which a secret was never read. */
  readonly unread?: readonly string[] | undefined;
}

/** In the order that they have. */
export function compileGuardrails(merged: readonly MergedGuardrail[], declared: Declared): readonly Guardrail[] {
  return Object.freeze(merged.map((each) => compileGuardrail(each, declared)));
}

function compileGuardrail({ value: written, manual }: MergedGuardrail, { places, unread = [] }: Declared): Guardrail {
  const kind = kindOf(written);
  const isUnread = manual === undefined && unread.includes(written.name);
  const { isCompiled = true, ...phases } = isUnread
    ? withoutVerdict(written.webhook?.fail)
    : manual === undefined
      ? phasesOf(kind, written)
      : usablePhases(kind, written);
  const on = written.on ?? [phases.input === undefined ? 'output' : 'input'];
  return Object.freeze({
    name: written.name,
    kind,
    mode: written.mode,
    order: written.order,
    roles: written.roles === undefined ? allRoles : new Set(written.roles),
    input: on.includes('input') ? phases.input : undefined,
    output: on.includes('output') ? phases.output : undefined,
    hook: phases.hook,
    asks: written.llm?.model,
    isCompiled,
    source: manual === undefined ? places.get(written.name) : undefined,
    updatedBy: manual?.updatedBy,
    userPaths: written.user_paths?.map((path) => normaliseUserPath(path).path ?? path),
    models: written.models === undefined ? undefined : new Set(written.models),
  });
}

/** It cannot judge. */
function withoutVerdict(fail: FailedVerdict['fail'] = 'closed'): Phases {
  const unusable: FailedVerdict = Object.freeze({ outcome: 'failed', reason: 'unusable', fail });
  return { input: { request: () => unusable }, output: { texts: () => unusable }, isCompiled: false };
}

/**
 * Of a guardrail that an operator has set: one that cannot be compiled, as it was stored by another version, refuses what it is for. Were it
 * to throw, none of the other documents would take effect.
 */
function usablePhases(kind: GuardrailKind, written: WrittenGuardrail): Phases {
  try {
    return phasesOf(kind, written);
  } catch {
    return withoutVerdict();
  }
}

function phasesOf(kind: GuardrailKind, written: WrittenGuardrail): Phases {
  const maker = makers[kind] as (settings: unknown, name: string) => Phases;
  const settings = written[kind];
  if (settings === undefined) throw new Error(`nothing is written of the kind ${kind}`);
  return maker(settings, written.name);
}
