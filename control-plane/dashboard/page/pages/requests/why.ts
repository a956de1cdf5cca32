// Why a request was refused: the words of the error, and the rule or budget that said so, as it stands now.
import { dollars } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { Badge } from '../../parts/badge.ts';
import { type RuleFacts, RuleUse } from '../../parts/rule-use.ts';
import { Countdown } from '../../parts/time-text.ts';
import { linkTo } from '../../router.ts';
import type { Budget, BudgetListing } from '../budgets/budget.ts';
import { isFull, type Rule } from '../rate-limits/rule.ts';
import { type Entry, toneOf } from './entry.ts';

const everyMs = 1_000;

export function Why({ entry }: { readonly entry: Entry }): View {
  const { data, error_type, user_path, requested_model, auth_key_id, path, status_code } = entry;
  if (status_code < 400) return null;
  const explained = linkTo('/explain', {
    user_path,
    model: requested_model,
    key_id: auth_key_id,
    endpoint: requested_model === undefined ? undefined : path,
  });
  const isLimited = data.rule !== undefined;
  return html`<section class=${`verdict ${toneOf(entry)}`} aria-label="Why it failed">
    <p class="foreign"><strong>${data.error_message ?? `It was answered with ${status_code}.`}</strong></p>
    <p class="small quiet">
      <code class="foreign">${data.error_code ?? error_type ?? status_code}</code>
      ${data.error_provider === undefined ? ', by the gateway' : html`, from the provider <code class="foreign">${data.error_provider}</code>`}
      <span aria-hidden="true"> · </span><a href=${explained}>Explain what would happen now</a>
    </p>
    ${isLimited && (data.error_code === 'budget_exceeded' ? html`<${DecidingBudget} label=${data.rule} userPath=${user_path} />` : html`<${DecidingRule} label=${data.rule} userPath=${user_path} />`)}
  </section>`;
}

interface DecidingProps {
  /** The name of the rule, else its id. */
  readonly label: string;
  readonly userPath: string;
}

interface Rules {
  readonly rate_limits: readonly (Rule & RuleFacts)[];
}

function useRule(
  query: Readonly<Record<string, string>> | undefined,
  label: string,
): { rule?: Rule & RuleFacts; isLoaded: boolean } {
  const path = query === undefined ? undefined : `/admin/rate-limits?${new URLSearchParams(query)}`;
  const { body, error } = useLoad<Rules>(path, everyMs);
  const rule = body?.rate_limits.find(({ id, name }) => (name ?? id) === label);
  return { isLoaded: body !== undefined || error !== undefined, ...(rule === undefined ? {} : { rule }) };
}

/** Rules of user paths are asked for first: they refuse most. */
function DecidingRule({ label, userPath }: DecidingProps): View {
  const ofPath = useRule({ covers: userPath }, label);
  const isElsewhere = ofPath.isLoaded && ofPath.rule === undefined;
  const ofProvider = useRule(isElsewhere ? { scope: 'provider' } : undefined, label);
  const ofModel = useRule(isElsewhere ? { scope: 'model' } : undefined, label);
  const rule = ofPath.rule ?? ofProvider.rule ?? ofModel.rule;
  if (rule === undefined) {
    const isGone = isElsewhere && ofProvider.isLoaded && ofModel.isLoaded;
    return html`<p class="small quiet">${isGone ? html`The rule <code class="foreign">${label}</code> that refused it is gone, or not yours to see.` : 'Looking for the rule…'}</p>`;
  }
  return html`<h2>The rule that refused it, as it stands now</h2>
    <${RuleUse} rule=${rule} isDeciding=${isFull(rule)} />
    <p role="status"><${RuleNow} rule=${rule} /></p>`;
}

function RuleNow({ rule }: { readonly rule: Rule }): View {
  const { per_child, requests_used, window_end, mode } = rule;
  if (mode === 'shadow') return html`<${Badge} tone="good">It refuses nothing now</${Badge}> It is a shadow rule.`;
  if (per_child || requests_used === undefined)
    return html`<span class="quiet">What is used of it for this consumer is not known here; the explanation says it.</span>`;
  if (!isFull(rule)) return html`<${Badge} tone="good">It admits requests again</${Badge}>`;
  return html`<${Badge} tone="bad">It still refuses requests</${Badge}> ${
    window_end !== undefined &&
    html`<span class="small">All that counts now has left in <${Countdown} at=${window_end} over="a moment" />.</span>`
  }`;
}

function DecidingBudget({ label, userPath }: DecidingProps): View {
  const { body, error } = useLoad<BudgetListing>(
    `/admin/budgets?${new URLSearchParams({ covers: userPath })}`,
    everyMs * 5,
  );
  const ofLabels = useLoad<BudgetListing>('/admin/budgets?scope=label');
  const budget = [...(body?.budgets ?? []), ...(ofLabels.body?.budgets ?? [])].find(({ id }) => id === label);
  if (budget === undefined)
    return html`<p class="small quiet">${body === undefined && error === undefined ? 'Looking for the budget…' : html`The budget <code class="foreign">${label}</code> that refused it is gone, or not yours to see.`}</p>`;
  return html`<h2>The budget that refused it, as it stands now</h2><${BudgetNow} budget=${budget} />`;
}

function BudgetNow({ budget }: { readonly budget: Budget }): View {
  const { subject, effective_subject, period_label, spent, amount, exceeded, id } = budget;
  return html`<div class=${exceeded ? 'rule-use deciding' : 'rule-use'}>
      <div class="rule-head"><span class="name">${effective_subject ?? subject}</span><span class="quiet small">${period_label}</span></div>
      <p class="small quiet">${spent !== undefined && `${dollars(spent)} of ${dollars(amount)} are spent. `}<a href=${linkTo(`/budgets/${id}`)}>Show the budget</a></p>
    </div>
    <p role="status"><${BudgetRefuses} budget=${budget} /></p>`;
}

function BudgetRefuses({ budget: { mode, exceeded, remaining, period_end } }: { readonly budget: Budget }): View {
  if (mode === 'shadow') return html`<${Badge} tone="good">It refuses nothing now</${Badge}> It is a shadow budget.`;
  if (exceeded)
    return html`<${Badge} tone="bad">It still refuses requests</${Badge}> <span class="small">The window ends in <${Countdown} at=${period_end} over="a moment" />.</span>`;
  if (mode === 'enforce' || remaining === undefined)
    return html`<${Badge} tone="good">It admits requests again</${Badge}>`;
  return html`<${Badge} tone="good">It admits some requests</${Badge}> <span class="small">It is hard: those that may cost more than what is left, ${dollars(remaining)} less what open requests have set aside, are refused.</span>`;
}
