// One rule with what is used of it, where it comes from and until when it refuses: wherever a page says why a request was refused.
import type { ExplanationAnswer } from '../../../../schemas/types.ts';
import { count, duration } from '../format.ts';
import { html, type View } from '../html.ts';
import { linkTo } from '../router.ts';
import { Badge } from './badge.ts';
import { Meter } from './meter.ts';
import { Place } from './place.ts';
import { Countdown } from './time-text.ts';

type ExplainedRule = ExplanationAnswer['rules'][number];

/** What the listing of rules does not always have: a template has no effective subject. */
type OfExplanations = 'effective_subject' | 'counted' | 'says';

/** A rule as explanations have it, and the listing of rules. */
export type RuleFacts = Omit<ExplainedRule, OfExplanations> & Partial<Pick<ExplainedRule, OfExplanations>>;

export interface RuleUseProps {
  readonly rule: RuleFacts;
  /** It refuses the request. */
  readonly isDeciding?: boolean;
  /** Until it admits a request; absent: it does. */
  readonly waitSeconds?: number;
}

const scopes: Readonly<Record<string, string>> = { user_path: 'User path', provider: 'Provider', model: 'Model' };

export function RuleUse({ rule, isDeciding = false, waitSeconds }: RuleUseProps): View {
  const { subject, effective_subject: child = subject, mode, name, scope, period_label } = rule;
  return html`<div class=${isDeciding ? 'rule-use deciding' : 'rule-use'}>
    <div class="rule-words">
      <div class="rule-head">
        <span class="name">${child}</span>
        <span class="quiet small">${scopes[scope] ?? scope}, ${periodWords(period_label)}</span>
        ${name !== undefined && html`<${Badge}>${name}</${Badge}>`}
        ${child !== subject && html`<${Badge} title=${`The template is ${subject}`}>from a template</${Badge}>`}
        ${mode === 'shadow' && html`<${Badge} tone="info" title="Counts and refuses nothing">shadow</${Badge}>`}
        ${isDeciding && html`<${Badge} tone="bad">decides</${Badge}>`}
      </div>
      <p class="small quiet rule-source">
        ${waitSeconds !== undefined && html`<strong class="wait">Admits a request in ${duration(waitSeconds * 1000)}.</strong> `}
        <${Source} rule=${rule} />
      </p>
      ${rule.says !== undefined && html`<p class="small quiet"><${Counting} rule=${rule} /></p>`}
    </div>
    <${Uses} rule=${rule} />
  </div>`;
}

/** Who counts it, and what is held in advance where. */
function Counting({ rule }: { readonly rule: RuleFacts }): View {
  const { says = '', exactness = 'exact', held, held_by_others: others = 0 } = rule;
  const { tokens_held, tokens_held_by_others = 0, max_requests } = rule;
  const isLost = exactness !== 'exact' && exactness !== 'recovering';
  const words = `${says.charAt(0).toUpperCase()}${says.slice(1)}.`;
  return html`<span>
    ${isLost ? html`<strong class="wait">${words}</strong>` : words}
    ${held !== undefined && max_requests !== undefined && html` Held in advance: ${count(held)} here, ${count(others)} by others.`}
    ${tokens_held !== undefined && html` Tokens held: ${count(tokens_held)} here, ${count(tokens_held_by_others)} by others.`}
  </span>`;
}

/** Of `minute`, `concurrent`, `300s`. */
function periodWords(label: string): string {
  return label === 'concurrent' ? 'at a time' : `per ${label.replace(/^(\d+)s$/, '$1 s')}`;
}

function Uses({ rule }: { readonly rule: RuleFacts }): View {
  const { max_requests, max_tokens, requests_used, tokens_used = 0, tokens_reserved, in_flight = 0 } = rule;
  const { period_seconds } = rule;
  const label = `${rule.effective_subject ?? rule.subject}, ${periodWords(rule.period_label)}`;
  if (requests_used === undefined) return html`<p class="small quiet">What is used of it is not shown here.</p>`;
  const [used, unit] = period_seconds === 0 ? [in_flight, 'in flight'] : [requests_used, 'requests'];
  return html`<div class="rule-meters">
    ${max_requests !== undefined && html`<${Meter} used=${used} cap=${max_requests} unit=${unit} label=${label} />`}
    ${max_tokens !== undefined && html`<${Meter} used=${tokens_used} reserved=${tokens_reserved} cap=${max_tokens} unit="tokens" label=${label} />`}
  </div>`;
}

function Source({ rule }: { readonly rule: RuleFacts }): View {
  const { id, source, declared_at, updated_by, reason, expires_at } = rule;
  if (source === undefined) return html`<span>It belongs to operators above you.</span>`;
  const by = updated_by === 'master_key' ? 'the master key' : updated_by;
  return html`<span>
    ${source === 'config' ? html`<${Place} at=${declared_at} />` : `Set by ${by ?? 'an operator'}`}
    ${reason !== undefined && html`, “${reason}”`}
    ${expires_at !== undefined && html`, ends in <${Countdown} at=${expires_at} over="a moment" />`}
    <span aria-hidden="true"> · </span><a href=${linkTo('/rate-limits', { rule: id })}>Show the rule</a>
  </span>`;
}
