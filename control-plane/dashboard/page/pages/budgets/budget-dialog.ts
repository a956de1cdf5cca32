// The window in which a budget is written: a new one, an edit, an override of the configuration; with the YAML for git.
import { useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../api.ts';
import { html, type View } from '../../html.ts';
import { CopyButton } from '../../parts/copy-button.ts';
import { Dialog, textOf } from '../../parts/dialog.ts';
import { EndFields, Field } from '../../parts/end-fields.ts';
import { write } from '../../parts/writes.ts';
import { type Budget, titleOf } from './budget.ts';
import { bodyOf, type Draft, draftOf, mistakeIn, periods, yamlOf } from './draft.ts';

export interface BudgetDialogProps {
  /** What it begins with; absent: a new budget. */
  readonly budget?: Budget;
  /** Of the operator; a new budget begins there. */
  readonly userPath: string;
  /** Called with true when something was stored. */
  readonly onClose: (isChanged: boolean) => void;
}

interface FieldsProps {
  readonly draft: Draft;
  readonly change: (change: Partial<Draft>) => void;
  readonly wrong: keyof Draft | undefined;
  /** Its subject and period are those of another budget: they name it. */
  readonly isFixed: boolean;
}

/** The field that a member of the body comes from. */
const fieldOf: Readonly<Record<string, keyof Draft>> = {
  subject: 'subject',
  user_path: 'subject',
  'budget_key.period_seconds': 'seconds',
  amount: 'amount',
  per_child: 'perChild',
  mode: 'shadow',
  reason: 'reason',
  expires_at: 'endAt',
  expires_in: 'end',
};

export function BudgetDialog({ budget, userPath, onClose }: BudgetDialogProps): View {
  const [draft, setDraft] = useState<Draft>(() => draftOf(budget, userPath));
  const [problem, setProblem] = useState<{ readonly field: keyof Draft | undefined; readonly message: string }>();
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const isOverride = budget?.source === 'config';
  const change = (some: Partial<Draft>): void => setDraft((before) => ({ ...before, ...some }));
  const fail = (field: keyof Draft | undefined, message: string): void => {
    setProblem({ field, message });
    setBusy(false);
    if (field !== undefined) form.current?.querySelector<HTMLElement>(`[name="${field}"]`)?.focus();
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const mistake = mistakeIn(draft);
    if (mistake !== undefined) return fail(...mistake);
    setBusy(true);
    setProblem(undefined);
    const what = `${draft.subject.trim()}: ${isOverride ? 'override of the budget' : 'budget'}`;
    try {
      await write(what, '/admin/budgets', { method: 'PUT', body: bodyOf(draft) });
      onClose(true);
    } catch (error) {
      const { message, param = '' } = error as ApiError;
      fail(fieldOf[param], message);
    }
  };
  const title = budget === undefined ? 'New budget' : `${isOverride ? 'Override' : 'Edit'} ${titleOf(budget)}`;
  return html`<${Dialog} title=${title} onClose=${() => onClose(false)}>
    <form ref=${form} onSubmit=${submit} novalidate>
      ${isOverride && html`<p class="note small">The configuration declares this budget at <code>${budget.declared_at}</code>. Your override holds until it ends or is deleted; then the configuration holds again.</p>`}
      <${NameFields} draft=${draft} change=${change} wrong=${problem?.field} isFixed=${budget !== undefined} />
      <${AmountFields} draft=${draft} change=${change} wrong=${problem?.field} isFixed=${budget !== undefined} />
      <${EndFields} draft=${draft} change=${change} wrong=${problem?.field} />
      ${problem !== undefined && html`<p class="problem" role="alert">${problem.message}</p>`}
      <details><summary class="small">The same as YAML, for git</summary><${YamlOfBudget} draft=${draft} /></details>
      <div class="buttons">
        <button type="button" onClick=${() => onClose(false)}>Cancel</button>
        <button class="primary" disabled=${isBusy}>${isBusy ? 'Storing…' : isOverride ? 'Override' : 'Store budget'}</button>
      </div>
    </form>
  </${Dialog}>`;
}

function NameFields({ draft: { scope, subject, period, seconds }, change, wrong, isFixed }: FieldsProps): View {
  const isLabel = scope === 'label';
  return html`<div class="fields">
    <${Field} label="Scope">${(
      id: string,
    ) => html`<select id=${id} name="scope" disabled=${isFixed} value=${scope} onChange=${(event: Event) => change({ scope: textOf(event) as Draft['scope'] })}>
      <option value="user_path">User path</option><option value="label">Label of keys</option>
    </select>`}</${Field}>
    <${Field} label=${isLabel ? 'Label' : 'User path'}>${(id: string) => html`<input id=${id} name="subject" disabled=${isFixed} placeholder=${isLabel ? 'batch' : '/team-a'} value=${subject} spellcheck="false" autocomplete="off" aria-invalid=${wrong === 'subject'} onInput=${(event: Event) => change({ subject: textOf(event) })} />`}</${Field}>
    <${Field} label="Window">${(
      id: string,
    ) => html`<select id=${id} name="period" disabled=${isFixed} value=${period} onChange=${(event: Event) => change({ period: textOf(event) })}>
      ${periods.map(([value, text]) => html`<option value=${value} key=${value}>${text}</option>`)}
      <option value="custom">Other length</option>
    </select>`}</${Field}>
    ${period === 'custom' && html`<${Field} label="Seconds">${(id: string) => html`<input id=${id} name="seconds" inputmode="numeric" disabled=${isFixed} value=${seconds} aria-invalid=${wrong === 'seconds'} onInput=${(event: Event) => change({ seconds: textOf(event) })} />`}</${Field}>`}
  </div>`;
}

function AmountFields({ draft: { amount, scope, perChild, shadow }, change, wrong }: FieldsProps): View {
  return html`<div class="fields">
      <${Field} label="Amount in US dollars">${(id: string) => html`<input id=${id} name="amount" inputmode="decimal" value=${amount} placeholder="25" aria-invalid=${wrong === 'amount'} onInput=${(event: Event) => change({ amount: textOf(event) })} />`}</${Field}>
    </div>
    ${scope === 'user_path' && html`<label class="check"><input type="checkbox" name="perChild" checked=${perChild} onChange=${() => change({ perChild: !perChild })} /> Every direct child has a budget of its own</label>`}
    <label class="check"><input type="checkbox" name="shadow" checked=${shadow} onChange=${() => change({ shadow: !shadow })} /> Shadow: report what it would refuse, and refuse nothing</label>`;
}

/** A text to be copied into a file of the configuration. */
export function YamlOfBudget({ draft }: { readonly draft: Draft }): View {
  const text = yamlOf(draft);
  return html`<div class="copied"><pre tabindex="0">${text}</pre><${CopyButton} text=${text} what="YAML" /></div>`;
}
