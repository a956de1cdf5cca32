// The way of a request as a picture: every stage of the line, what it looks at, and the one that decides.
import type { ComponentChildren } from 'preact';
import { dollars, plural } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { RuleUse } from '../../parts/rule-use.ts';
import { Countdown } from '../../parts/time-text.ts';
import { linkTo } from '../../router.ts';
import { ModeBadge } from '../budgets/mode-badge.ts';
import { type Explanation, endOf, isNamed, type Stage, stages } from './explanation.ts';
import { Guardrails } from './guardrails.ts';
import { OriginText } from './origin.ts';
import { Targets } from './targets.ts';

interface OfExplanation {
  readonly explanation: Explanation;
}

export function Line({ explanation }: OfExplanation): View {
  const end = endOf(explanation);
  const { guardrails } = explanation;
  const standing = (stage: Stage): Standing => {
    const [here, last] = [stages.indexOf(stage), end === undefined ? stages.length : stages.indexOf(end)];
    return here === last ? 'ends' : here < last ? 'passes' : 'not reached';
  };
  return html`<ol class="line" aria-label="The way of the request">
    <${StageItem} title="Who asks" standing=${standing('consumer')}><${Consumer} explanation=${explanation} /></${StageItem}>
    <${StageItem} title="Budgets" standing=${standing('budgets')}><${SpentBudgets} explanation=${explanation} /></${StageItem}>
    <${StageItem} title="Rules of the consumer" standing=${standing('rules')}><${ConsumerRules} explanation=${explanation} /></${StageItem}>
    <${StageItem} title="What the name means" standing=${standing('name')}><${Name} explanation=${explanation} /></${StageItem}>
    <${StageItem} title="Guardrails" standing=${guardrails.length > 0 && standing('guardrails') === 'passes' ? 'looks' : standing('guardrails')}><${Guardrails} of=${guardrails} /></${StageItem}>
    <${StageItem} title="Targets, in the order in which they are asked" standing=${standing('targets')}><${Targets} explanation=${explanation} /></${StageItem}>
  </ol>`;
}

/** `looks`: it depends on what is said. */
type Standing = 'passes' | 'looks' | 'ends' | 'not reached';

interface StageProps {
  readonly title: string;
  readonly standing: Standing;
  readonly children?: ComponentChildren;
}

const standingWords = {
  passes: ['good', 'passes'],
  looks: ['info', 'as the words are'],
  ends: ['bad', 'refused here'],
  'not reached': ['plain', 'not reached'],
} as const;

function StageItem({ title, standing, children }: StageProps): View {
  const [tone, words] = standingWords[standing];
  return html`<li class=${`stage ${standing.replace(' ', '-')}`} aria-current=${standing === 'ends' ? 'step' : undefined}>
    <div class="stage-head"><h2>${title}</h2><${Badge} tone=${tone}>${words}</${Badge}></div>
    ${children}
  </li>`;
}

function Consumer({ explanation: { request } }: OfExplanation): View {
  const { user_path, key } = request;
  const models = key?.allowed_models ?? [];
  return html`<p>
      <code class="foreign">${user_path}</code>
      ${key === undefined ? ' with the master key, which may use every model.' : html` with the key <strong class="foreign">${key.name}</strong>`}
      ${key !== undefined && key.state !== 'active' && html` <${Badge} tone="bad">${key.state}</${Badge}>`}
    </p>
    ${
      key !== undefined &&
      html`<p class="small quiet">
        ${key.user_path === undefined ? '' : `It is bound to ${key.user_path}. `}${key.any_user_path ? 'It may name any user path. ' : ''}${models.length === 0 ? 'It may use every model.' : `It may use ${models.join(', ')}.`}
      </p>`
    }`;
}

function SpentBudgets({ explanation: { budgets, refusal } }: OfExplanation): View {
  if (budgets.length === 0) return html`<p class="quiet">No budget that covers the request is used up.</p>`;
  return html`${budgets.map(
    (budget) => html`<div class=${isNamed(budget, refusal?.rule) ? 'rule-use deciding' : 'rule-use'} key=${budget.id}>
      <div class="rule-head">
        <span class="name">${budget.effective_subject}</span>
        <span class="quiet small">${budget.period_label}</span>
        <${ModeBadge} mode=${budget.mode} />
        ${isNamed(budget, refusal?.rule) && html`<${Badge} tone="bad">decides</${Badge}>`}
      </div>
      <p class="small quiet">
        ${budget.spent !== undefined && budget.amount !== undefined && `${dollars(budget.spent)} of ${dollars(budget.amount)} are spent. `}
        The window ends in <${Countdown} at=${budget.period_end} over="a moment" />.
        <span aria-hidden="true"> · </span><a href=${linkTo(`/budgets/${budget.id}`)}>Show the budget</a>
      </p>
    </div>`,
  )}`;
}

function ConsumerRules({ explanation }: OfExplanation): View {
  const { rules, refusal, rate_limits_enabled, counted, request } = explanation;
  if (!rate_limits_enabled) return html`<p class="quiet">Rate limits are switched off.</p>`;
  return html`${counted !== undefined && html`<p class="small quiet">${counted.says}</p>`}
    ${rules.length === 0 && html`<p class="quiet">No rule counts the requests of <code class="foreign">${request.user_path}</code>. <a href=${linkTo('/rate-limits')}>Set one</a></p>`}
    ${rules.map((rule) => html`<${RuleUse} key=${rule.id} rule=${rule} isDeciding=${isNamed(rule, refusal?.rule)} waitSeconds=${rule.retry_after_seconds} />`)}`;
}

const kinds: Readonly<Record<Explanation['resolution']['kind'], string>> = {
  alias: 'is an alias',
  family: 'is of a family of aliases',
  bare_id: 'is a model on any provider that lists it',
  model: 'is a model of one provider',
  unknown: 'leads nowhere for this consumer',
};

function Name({ explanation: { request, resolution, mirror } }: OfExplanation): View {
  const { kind, aliases, strategy, attempts, hedge } = resolution;
  const facts = [
    ...(strategy === undefined ? [] : [`asked by ${strategy.replaceAll('_', ' ')}`]),
    ...(attempts === undefined ? [] : [`at most ${plural(attempts, 'call')} for one request`]),
    ...(hedge === undefined ? [] : ['a second target is asked beside a slow one']),
  ];
  return html`<p><code class="foreign">${request.model}</code> ${kinds[kind]}${facts.length === 0 ? '' : `; ${facts.join(', ')}`}.</p>
    ${aliases.map(
      (alias) => html`<p class="alias-step" key=${alias.name}>
        <code class="foreign">${alias.name}</code><span aria-label="leads to">→</span>${alias.targets.map((target) => html`<code class="foreign" key=${target}>${target}</code>`)}
        <span class="small quiet"><${OriginText} of=${alias} /></span>
      </p>`,
    )}
    ${mirror !== undefined && html`<p class="small">Its mirror <code class="foreign">${mirror.target}</code> ${mirror.would === 'copy' ? 'gets copies' : 'gets no copies now'}: ${mirror.says}.</p>`}`;
}
