// The guardrails of a request: what each looks at, in their order. What they say depends on the words, which are not known here.
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { ForRole } from '../../parts/for-role.ts';
import { linkTo } from '../../router.ts';
import { kindWords } from '../guardrails/guardrail.ts';
import type { ExplainedGuardrail } from './explanation.ts';
import { OriginText } from './origin.ts';

export function Guardrails({ of: guardrails }: { readonly of: readonly ExplainedGuardrail[] }): View {
  if (guardrails.length === 0)
    return html`<p class="quiet">None looks at this request or at its answer.<${ForRole} needs="admin" isWhole> <a href=${linkTo('/guardrails')}>Set one</a></${ForRole}></p>`;
  return html`<ol class="list guardrail-steps">
      ${guardrails.map((each) => html`<li key=${each.name}><${Step} of=${each} /></li>`)}
    </ol>
    <${ForRole} needs="operator" isWhole><p class="small"><a href=${linkTo('/guardrails')}>Try a text on them</a></p></${ForRole}>`;
}

function Step({ of }: { readonly of: ExplainedGuardrail }): View {
  const { name, kind, mode, on } = of;
  const looksAt = on.map((phase) => (phase === 'input' ? 'the request' : 'the answer')).join(' and ');
  return html`<div class="rule-head">
      <span class="name foreign">${name}</span>
      <span class="quiet small">${kindWords[kind]}, looks at ${looksAt}</span>
      ${mode === 'shadow' && html`<${Badge} tone="info" title="It changes and refuses nothing">shadow</${Badge}>`}
    </div>
    <p class="small quiet"><${OriginText} of=${of} /></p>`;
}
