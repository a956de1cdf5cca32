// The window in which a budget is written: a new one, an edit, an override of the configuration; with the YAML for git.
import { useState } from 'preact/hooks';
import { ApiError } from '../../api.ts';
import { html, type View } from '../../html.ts';
import { EndFields } from '../../parts/end-fields.ts';
import { CheckField, SelectField, TextField } from '../../parts/fields.ts';
import { FieldMistake, FormDialog } from '../../parts/form-dialog.ts';
import { write } from '../../parts/writes.ts';
import { YamlText } from '../../parts/yaml-text.ts';
import { type Budget, titleOf } from './budget.ts';
import { bodyOf, type Draft, draftOf, mistakeIn, periods, yamlOf } from './draft.ts';

export interface BudgetDialogProps {
  /** The budget to edit; absent: a new one. */
  readonly budget?: Budget;
  /** Of the operator; a new budget begins there. */
  readonly userPath: string;
  /** Called with true when something was stored. */
  readonly onClose: (isChanged: boolean) => void;
}

interface FieldsProps {
  readonly draft: Draft;
  readonly change: (change: Partial<Draft>) => void;
}

/** The field that a member of the body comes from, where it has another name. */
const fieldOf: Readonly<Record<string, keyof Draft>> = {
  user_path: 'subject',
  'budget_key.period_seconds': 'seconds',
  per_child: 'perChild',
  expires_at: 'endAt',
  expires_in: 'end',
};

export function BudgetDialog({ budget, userPath, onClose }: BudgetDialogProps): View {
  const [draft, setDraft] = useState<Draft>(() => draftOf(budget, userPath));
  const change = (some: Partial<Draft>): void => setDraft((before) => ({ ...before, ...some }));
  const isOverride = budget?.source === 'config';
  const store = async (): Promise<void> => {
    const mistake = mistakeIn(draft);
    if (mistake !== undefined) throw new FieldMistake(...mistake);
    const what = `${draft.subject.trim()}: ${isOverride ? 'override of the budget' : 'budget'}`;
    await write(what, '/admin/budgets', { method: 'PUT', body: bodyOf(draft) }).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      throw new FieldMistake(fieldOf[error.param ?? ''] ?? error.param ?? '', error.message);
    });
    onClose(true);
  };
  const title = budget === undefined ? 'New budget' : `${isOverride ? 'Override' : 'Edit'} ${titleOf(budget)}`;
  return html`<${FormDialog} title=${title} action=${isOverride ? 'Override' : 'Store budget'} onSubmit=${store} onClose=${() => onClose(false)}>
    ${isOverride && html`<p class="note small">The configuration declares this budget at <code>${budget.declared_at}</code>. Your override holds until it ends or is deleted; then the configuration holds again.</p>`}
    <${NameFields} draft=${draft} change=${change} isFixed=${budget !== undefined} />
    <${AmountFields} draft=${draft} change=${change} />
    <${EndFields} draft=${draft} change=${change} />
    <details><summary class="small">The same as YAML, for git</summary><${YamlText} text=${yamlOf(draft)} /></details>
  </${FormDialog}>`;
}

/** They name the budget: those of one that is there already are fixed. */
function NameFields({ draft, change, isFixed }: FieldsProps & { readonly isFixed: boolean }): View {
  const { scope, subject, period, seconds } = draft;
  const isLabel = scope === 'label';
  return html`<div class="fields">
    <${SelectField} label="Scope" name="scope" value=${scope} isFixed=${isFixed} options=${scopes} onChange=${(value: Draft['scope']) => change({ scope: value })} />
    <${TextField} label=${isLabel ? 'Label' : 'User path'} name="subject" value=${subject} isFixed=${isFixed} placeholder=${isLabel ? 'batch' : '/team-a'} suggest=${isLabel ? 'labels' : 'user_paths'} onChange=${(value: string) => change({ subject: value })} />
    <${SelectField} label="Window" name="period" value=${period} isFixed=${isFixed} options=${windows} onChange=${(value: string) => change({ period: value })} />
    ${period === 'custom' && html`<${TextField} label="Seconds" name="seconds" value=${seconds} isFixed=${isFixed} onChange=${(value: string) => change({ seconds: value })} />`}
  </div>`;
}

const scopes = [
  ['user_path', 'User path'],
  ['label', 'Label of keys'],
] as const;
const windows = [...periods.map(([value, text]) => [value, text] as const), ['custom', 'Other length'] as const];

const modes = [
  ['enforce', 'Enforce'],
  ['hard', 'Hard'],
  ['shadow', 'Shadow'],
] as const;
const modeHints: Readonly<Record<Draft['mode'], string>> = {
  enforce: 'A call is admitted while money is left.',
  hard: 'What a whole call may cost is set aside before it is made; a call for which the rest does not suffice is refused.',
  shadow: 'It reports what it would refuse, and refuses nothing.',
};

function AmountFields({ draft: { amount, scope, perChild, mode }, change }: FieldsProps): View {
  return html`<div class="fields">
      <${TextField} label="Amount in US dollars" name="amount" value=${amount} placeholder="25" onChange=${(value: string) => change({ amount: value })} />
      <${SelectField} label="Mode" name="mode" value=${mode} options=${modes} hint=${modeHints[mode]} onChange=${(value: Draft['mode']) => change({ mode: value })} />
    </div>
    ${scope === 'user_path' && html`<${CheckField} name="perChild" value=${perChild} onChange=${(value: boolean) => change({ perChild: value })}>Every direct child has a budget of its own</${CheckField}>`}`;
}
