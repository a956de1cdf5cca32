// The window in which a rule is written: a new one, an edit, an override of the configuration; with the YAML for git.
import { useId, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../api.ts';
import { html, type Inside, type View } from '../../html.ts';
import { Dialog, textOf } from '../../parts/dialog.ts';
import { ends } from '../../parts/end-fields.ts';
import { write } from '../../parts/writes.ts';
import { YamlText } from '../../parts/yaml-text.ts';
import { bodyOf, type Draft, declaredBy, draftOf, emptyDraft, isMoved, mistakeIn, secondsOf } from './draft.ts';
import { keyOf, type Rule, scopeWords, titleOf } from './rule.ts';
import { yamlOf } from './yaml.ts';

export interface RuleDialogProps {
  /** What it begins with; absent: a new rule. */
  readonly rule?: Rule;
  /** Of the operator; a new rule begins there. */
  readonly userPath: string;
  /** Called with true when something was stored. */
  readonly onClose: (isChanged: boolean) => void;
}

type Change = (change: Partial<Draft>) => void;

interface Problem {
  readonly field: keyof Draft | undefined;
  readonly message: string;
}

/** The field that a member of the body comes from. */
const fieldOf: Readonly<Record<string, keyof Draft>> = {
  subject: 'subject',
  user_path: 'subject',
  'limit_key.period_seconds': 'seconds',
  max_requests: 'maxRequests',
  max_tokens: 'maxTokens',
  per_child: 'perChild',
  name: 'name',
  reason: 'reason',
  expires_at: 'endAt',
  expires_in: 'end',
};

export function RuleDialog({ rule, userPath, onClose }: RuleDialogProps): View {
  const isOverride = rule?.source === 'config';
  const [draft, setDraft] = useState<Draft>(() =>
    rule === undefined ? { ...emptyDraft, subject: userPath === '/' ? '' : userPath } : draftOf(rule, isOverride),
  );
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const change: Change = (some) => setDraft((before) => ({ ...before, ...some }));
  const moved = rule !== undefined && !isOverride && isMoved(draft, rule);

  const fail = (found: Problem): void => {
    setProblem(found);
    setBusy(false);
    if (found.field !== undefined) form.current?.querySelector<HTMLElement>(`[name="${found.field}"]`)?.focus();
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const mistake = mistakeIn(draft);
    if (mistake !== undefined) return fail({ field: mistake[0], message: mistake[1] });
    setBusy(true);
    setProblem(undefined);
    try {
      await store(draft, rule, moved);
      onClose(true);
    } catch (error) {
      const { message, param = '' } = error as ApiError;
      fail({ field: fieldOf[param], message });
    }
  };
  const title = rule === undefined ? 'New rule' : `${isOverride ? 'Override' : 'Edit'} ${titleOf(rule)}`;
  return html`<${Dialog} title=${title} onClose=${() => onClose(false)}>
    <form ref=${form} onSubmit=${submit} novalidate>
      ${isOverride && html`<p class="note small">The configuration declares this rule at <code>${rule.declared_at}</code>. Your override holds until it ends or is deleted; then the configuration holds again.</p>`}
      <${KeyFields} draft=${draft} change=${change} problem=${problem} isFixed=${isOverride} />
      ${moved && html`<p class="note warning small" role="status">This is another rule than before: its counters begin at zero, and the old rule is deleted.</p>`}
      <${CapFields} draft=${draft} change=${change} problem=${problem} />
      <${EndFields} draft=${draft} change=${change} problem=${problem} />
      ${problem !== undefined && html`<p class="problem" role="alert">${problem.message}</p>`}
      <details>
        <summary class="small">The same as YAML, for git</summary>
        <${YamlText} text=${yamlOf(declaredBy(draft))} />
      </details>
      <div class="buttons">
        <button type="button" onClick=${() => onClose(false)}>Cancel</button>
        <button class="primary" disabled=${isBusy}>${isBusy ? 'Storing…' : isOverride ? 'Override' : 'Store rule'}</button>
      </div>
    </form>
  </${Dialog}>`;
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
  readonly change: Change;
  readonly problem: Problem | undefined;
}

function KeyFields({ draft, change, problem, isFixed }: FieldsProps & { readonly isFixed: boolean }): View {
  const { scope, subject, period, seconds, perChild } = draft;
  const scopes = Object.entries(scopeWords) as [Draft['scope'], string][];
  const hint = { user_path: '/team-a', provider: 'openai', model: 'openai/gpt-4o or gpt-4o' }[scope];
  return html`<div class="fields">
      <${Field} label="Scope">${(
        id: string,
      ) => html`<select id=${id} name="scope" disabled=${isFixed} value=${scope} onChange=${(event: Event) => change({ scope: textOf(event) as Draft['scope'] })}>
        ${scopes.map(([value, text]) => html`<option value=${value} key=${value}>${text}</option>`)}
      </select>`}</${Field}>
      <${Field} label=${scopeWords[scope]}>${(id: string) => html`<input id=${id} name="subject" disabled=${isFixed} placeholder=${hint} value=${subject} spellcheck="false" autocomplete="off" aria-invalid=${problem?.field === 'subject'} onInput=${(event: Event) => change({ subject: textOf(event) })} />`}</${Field}>
      <${Field} label="Period">${(
        id: string,
      ) => html`<select id=${id} name="period" disabled=${isFixed} value=${period} onChange=${(event: Event) => change({ period: textOf(event) as Draft['period'] })}>
        <option value="minute">A minute</option><option value="hour">An hour</option><option value="day">A day</option>
        <option value="concurrent">At a time</option><option value="custom">Other length</option>
      </select>`}</${Field}>
      ${period === 'custom' && html`<${Field} label="Seconds">${(id: string) => html`<input id=${id} name="seconds" inputmode="numeric" disabled=${isFixed} value=${seconds} aria-invalid=${problem?.field === 'seconds'} onInput=${(event: Event) => change({ seconds: textOf(event) })} />`}</${Field}>`}
    </div>
    ${scope === 'user_path' && html`<label class="check"><input type="checkbox" name="perChild" checked=${perChild} onChange=${() => change({ perChild: !perChild })} /> Every direct child has counters of its own</label>`}`;
}

function CapFields({ draft, change, problem }: FieldsProps): View {
  const { maxRequests, maxTokens, period, shadow, name } = draft;
  const isConcurrent = secondsOf(draft) === 0 && period === 'concurrent';
  return html`<div class="fields">
      <${Field} label=${isConcurrent ? 'Requests at a time' : 'Requests'}>${(id: string) => html`<input id=${id} name="maxRequests" inputmode="numeric" value=${maxRequests} placeholder="no cap" aria-invalid=${problem?.field === 'maxRequests'} onInput=${(event: Event) => change({ maxRequests: textOf(event) })} />`}</${Field}>
      ${!isConcurrent && html`<${Field} label="Tokens">${(id: string) => html`<input id=${id} name="maxTokens" inputmode="numeric" value=${maxTokens} placeholder="no cap" aria-invalid=${problem?.field === 'maxTokens'} onInput=${(event: Event) => change({ maxTokens: textOf(event) })} />`}</${Field}>`}
      <${Field} label="Name (optional)">${(id: string) => html`<input id=${id} name="name" value=${name} autocomplete="off" aria-invalid=${problem?.field === 'name'} onInput=${(event: Event) => change({ name: textOf(event) })} />`}</${Field}>
    </div>
    <label class="check"><input type="checkbox" name="shadow" checked=${shadow} onChange=${() => change({ shadow: !shadow })} /> Shadow: count what it would refuse, and refuse nothing</label>`;
}

function EndFields({ draft, change, problem }: FieldsProps): View {
  const { reason, end, endAt } = draft;
  return html`<div class="fields">
    <${Field} label="Reason">${(id: string) => html`<input id=${id} name="reason" value=${reason} placeholder="Shown to other operators" autocomplete="off" aria-invalid=${problem?.field === 'reason'} onInput=${(event: Event) => change({ reason: textOf(event) })} />`}</${Field}>
    <${Field} label="End">${(
      id: string,
    ) => html`<select id=${id} name="end" value=${end} onChange=${(event: Event) => change({ end: textOf(event) })}>
      ${ends.map(([value, text]) => html`<option value=${value} key=${value}>${text}</option>`)}
    </select>`}</${Field}>
    ${end === 'at' && html`<${Field} label="Ends at (your time)">${(id: string) => html`<input id=${id} name="endAt" type="datetime-local" value=${endAt} aria-invalid=${problem?.field === 'endAt'} onInput=${(event: Event) => change({ endAt: textOf(event) })} />`}</${Field}>`}
  </div>`;
}

function Field({ label, children }: { readonly label: string; readonly children: (id: string) => Inside }): View {
  const id = useId();
  return html`<div class="field"><label for=${id}>${label}</label>${children(id)}</div>`;
}
