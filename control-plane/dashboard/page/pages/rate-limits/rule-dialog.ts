// The window in which a rule is written: a new one, an edit, an override of the configuration; with the YAML for git.
import { useState } from 'preact/hooks';
import { ApiError } from '../../api.ts';
import { html, type View } from '../../html.ts';
import { EndFields } from '../../parts/end-fields.ts';
import { CheckField, SelectField, TextField } from '../../parts/fields.ts';
import { FieldMistake, FormDialog } from '../../parts/form-dialog.ts';
import { write } from '../../parts/writes.ts';
import { YamlText } from '../../parts/yaml-text.ts';
import { bodyOf, type Draft, declaredBy, draftOf, emptyDraft, isMoved, mistakeIn } from './draft.ts';
import { keyOf, type Rule, scopeWords, titleOf } from './rule.ts';
import { lossWords } from './sharing.ts';
import { yamlOf } from './yaml.ts';

export interface RuleDialogProps {
  /** The rule to edit; absent: a new one. */
  readonly rule?: Rule;
  /** Of the operator; a new rule begins there. */
  readonly userPath: string;
  /** Called with true when something was stored. */
  readonly onClose: (isChanged: boolean) => void;
}

/** The field that a member of the body comes from, where it has another name. */
const fieldOf: Readonly<Record<string, keyof Draft>> = {
  user_path: 'subject',
  'limit_key.period_seconds': 'seconds',
  max_requests: 'maxRequests',
  max_tokens: 'maxTokens',
  per_child: 'perChild',
  mode: 'shadow',
  on_store_loss: 'onStoreLoss',
  expires_at: 'endAt',
  expires_in: 'end',
};

export function RuleDialog({ rule, userPath, onClose }: RuleDialogProps): View {
  const isOverride = rule?.source === 'config';
  const [draft, setDraft] = useState<Draft>(() =>
    rule === undefined ? { ...emptyDraft, subject: userPath === '/' ? '' : userPath } : draftOf(rule, isOverride),
  );
  const change = (some: Partial<Draft>): void => setDraft((before) => ({ ...before, ...some }));
  const moved = rule !== undefined && !isOverride && isMoved(draft, rule);
  const submit = async (): Promise<void> => {
    const mistake = mistakeIn(draft);
    if (mistake !== undefined) throw new FieldMistake(...mistake);
    await store(draft, rule, moved).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      throw new FieldMistake(fieldOf[error.param ?? ''] ?? error.param ?? '', error.message);
    });
    onClose(true);
  };
  const title = rule === undefined ? 'New rule' : `${isOverride ? 'Override' : 'Edit'} ${titleOf(rule)}`;
  return html`<${FormDialog} title=${title} action=${isOverride ? 'Override' : 'Store rule'} onSubmit=${submit} onClose=${() => onClose(false)}>
    ${isOverride && html`<p class="note small">The configuration declares this rule at <code>${rule.declared_at}</code>. Your override holds until it ends or is deleted; then the configuration holds again.</p>`}
    <${KeyFields} draft=${draft} change=${change} isFixed=${isOverride} />
    ${moved && html`<p class="note warning small" role="status">This is another rule than before: its counters begin at zero, and the old rule is deleted.</p>`}
    <${CapFields} draft=${draft} change=${change} />
    <${EndFields} draft=${draft} change=${change} />
    <details><summary class="small">The same as YAML, for git</summary><${YamlText} text=${yamlOf(declaredBy(draft))} /></details>
  </${FormDialog}>`;
}

/** A moved rule is there before the old one goes, so that the subject is never without a limit. */
async function store(draft: Draft, rule: Rule | undefined, isMove: boolean): Promise<void> {
  const what = `${draft.subject.trim()}: ${rule?.source === 'config' ? 'override' : 'rule'}`;
  await write(what, '/admin/rate-limits', { method: 'PUT', body: bodyOf(draft, isMove ? undefined : rule) });
  if (rule === undefined || !isMove) return;
  await write(`${titleOf(rule)}: deleted`, '/admin/rate-limits', { method: 'DELETE', body: keyOf(rule) });
}

interface FieldsProps {
  readonly draft: Draft;
  readonly change: (change: Partial<Draft>) => void;
}

const scopes = Object.entries(scopeWords);
const placeholders = { user_path: '/team-a', provider: 'openai', model: 'openai/gpt-4o or gpt-4o' };
const named = { user_path: 'user_paths', provider: 'providers', model: 'models' } as const;
const periods = [
  ['minute', 'A minute'],
  ['hour', 'An hour'],
  ['day', 'A day'],
  ['concurrent', 'At a time'],
  ['custom', 'Other length'],
] as const;

function KeyFields({ draft, change, isFixed }: FieldsProps & { readonly isFixed: boolean }): View {
  const { scope, subject, period, seconds, perChild } = draft;
  return html`<div class="fields">
      <${SelectField} label="Scope" name="scope" value=${scope} isFixed=${isFixed} options=${scopes} onChange=${(value: Draft['scope']) => change({ scope: value })} />
      <${TextField} label=${scopeWords[scope]} name="subject" value=${subject} isFixed=${isFixed} placeholder=${placeholders[scope]} suggest=${named[scope]} onChange=${(value: string) => change({ subject: value })} />
      <${SelectField} label="Period" name="period" value=${period} isFixed=${isFixed} options=${periods} onChange=${(value: Draft['period']) => change({ period: value })} />
      ${period === 'custom' && html`<${TextField} label="Seconds" name="seconds" value=${seconds} isFixed=${isFixed} isNumber onChange=${(value: string) => change({ seconds: value })} />`}
    </div>
    ${scope === 'user_path' && html`<${CheckField} name="perChild" value=${perChild} onChange=${(value: boolean) => change({ perChild: value })}>Every direct child has counters of its own</${CheckField}>`}`;
}

const losses = [['', 'As configured'], ...Object.entries(lossWords)] as const;

function CapFields({
  draft: { maxRequests, maxTokens, period, shadow, name, onStoreLoss },
  change,
}: FieldsProps): View {
  const isConcurrent = period === 'concurrent';
  return html`<div class="fields">
      <${TextField} label=${isConcurrent ? 'Requests at a time' : 'Requests'} name="maxRequests" value=${maxRequests} isNumber placeholder="no cap" onChange=${(value: string) => change({ maxRequests: value })} />
      ${!isConcurrent && html`<${TextField} label="Tokens" name="maxTokens" value=${maxTokens} isNumber placeholder="no cap" onChange=${(value: string) => change({ maxTokens: value })} />`}
      <${TextField} label="Name (optional)" name="name" value=${name} onChange=${(value: string) => change({ name: value })} />
      <${SelectField} label="Without the state store" name="onStoreLoss" value=${onStoreLoss} options=${losses} onChange=${(value: Draft['onStoreLoss']) => change({ onStoreLoss: value })} />
    </div>
    <${CheckField} name="shadow" value=${shadow} onChange=${(value: boolean) => change({ shadow: value })}>Shadow: count what it would refuse, and refuse nothing</${CheckField}>`;
}
