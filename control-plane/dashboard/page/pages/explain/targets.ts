// The targets of a request: which are asked, what stands in the way of the others, and the rules on each.
import { count } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { RuleUse } from '../../parts/rule-use.ts';
import { Countdown } from '../../parts/time-text.ts';
import { type ExplainedTarget, type Explanation, isNamed } from './explanation.ts';

const words = {
  ask: ['good', 'asked'],
  last_resort: ['warn', 'last resort'],
  skip: ['bad', 'skipped'],
} as const;

export function Targets({ explanation: { targets, refusal } }: { readonly explanation: Explanation }): View {
  if (targets.length === 0) return html`<p class="quiet">The name leads to no target.</p>`;
  return html`<ol class="targets">
    ${targets.map((target) => html`<li class="target" key=${target.target}><${Target} target=${target} decidingRule=${refusal?.rule} /></li>`)}
  </ol>`;
}

interface TargetProps {
  readonly target: ExplainedTarget;
  readonly decidingRule: string | undefined;
}

function Target({ target, decidingRule }: TargetProps): View {
  const [tone, said] = words[target.would];
  return html`<div class="rule-head">
      <code class="name foreign">${target.target}</code>
      <${Badge} tone=${tone}>${said}</${Badge}>
      <span class="small">${target.says}${target.until !== undefined && html`; asked in its turn again in <${Countdown} at=${target.until} over="a moment" />`}</span>
    </div>
    <p class="small quiet">${factsOf(target).join(' · ')}</p>
    ${target.rules.map((rule) => html`<${RuleUse} key=${rule.id} rule=${rule} isDeciding=${isNamed(rule, decidingRule)} waitSeconds=${rule.retry_after_seconds} />`)}`;
}

function factsOf(target: ExplainedTarget): string[] {
  const { relay, translated_to, is_assumed, weight, tier, open_requests } = target;
  const { first_byte_ms, hedge_after_ms, learned_remaining = {}, conditions = [] } = target;
  return [
    ...(relay === 'bytes' ? ["gets the client's bytes"] : []),
    ...(relay === 'translated' ? [`translated to ${translated_to}`] : []),
    ...(is_assumed ? ['assumed to have the endpoint'] : []),
    ...(weight === undefined || weight === 0 ? [] : [`weight ${count(weight)}`]),
    ...conditions.map(({ when, holds }) => `if ${when}: ${holds === undefined ? 'not known here' : holds}`),
    ...(tier === undefined ? [] : [`tier ${tier}`]),
    ...(open_requests === undefined ? [] : [`${count(open_requests)} open`]),
    ...(first_byte_ms === undefined ? [] : [`first byte after ${count(first_byte_ms)} ms`]),
    ...(hedge_after_ms === undefined ? [] : [`another one is asked after ${count(hedge_after_ms)} ms`]),
    ...Object.entries(learned_remaining).map(([name, left]) => `${count(left)} ${name} left at the provider`),
  ];
}
