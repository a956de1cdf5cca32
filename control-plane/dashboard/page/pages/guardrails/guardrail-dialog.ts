// The window in which a guardrail is written: a new one, an edit, an override of the configuration; with the YAML for git.
import { useState } from 'preact/hooks';
import { html, type View } from '../../html.ts';
import { CopyButton } from '../../parts/copy-button.ts';
import { SelectField, TextField } from '../../parts/fields.ts';
import { FieldMistake, FormDialog } from '../../parts/form-dialog.ts';
import { write } from '../../parts/writes.ts';
import { bodyOf, type Draft, draftOf, mistakeIn, newSettings, yamlOf } from './draft.ts';
import { type Guardrail, guardrailsPath, type Kind, kindWords } from './guardrail.ts';
import { settingFields } from './settings.ts';
import { SettingsForm } from './settings-form.ts';
import type { Texts } from './settings-text.ts';

export interface GuardrailDialogProps {
  /** Absent: a new one. */
  readonly of?: Guardrail;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const kinds = Object.keys(settingFields).map((kind) => [kind, kindWords[kind as Kind]] as const);
const modes = [
  ['enforce', 'Enforce'],
  ['shadow', 'Shadow: only count its verdicts'],
] as const;
const phases = [
  ['', 'As usual for its kind'],
  ['input', 'Requests'],
  ['output', 'Answers'],
  ['input,output', 'Both'],
] as const;

export function GuardrailDialog({ of, onDone, onClose }: GuardrailDialogProps): View {
  const [draft, setDraft] = useState<Draft>(() => draftOf(of));
  const change = (some: Partial<Draft>): void => setDraft((before) => ({ ...before, ...some }));
  const isOverride = of?.source === 'config';
  const submit = async (): Promise<void> => {
    const mistake = mistakeIn(draft);
    if (mistake !== undefined) throw new FieldMistake(...mistake);
    const what = `Guardrail ${draft.name.trim()}: ${isOverride ? 'overridden' : 'stored'}`;
    await write(what, guardrailsPath, { method: 'PUT', body: bodyOf(draft, of) });
    onDone();
  };
  const turn = (kind: Kind): void => change({ kind, settings: newSettings(kind) });
  const title = of === undefined ? 'New guardrail' : `${isOverride ? 'Override' : 'Edit'} ${of.name}`;
  const yaml = mistakeIn(draft) === undefined ? yamlOf(draft, of) : '';
  return html`<${FormDialog} title=${title} action=${isOverride ? 'Override' : 'Store guardrail'} onSubmit=${submit} onClose=${onClose}>
    ${isOverride && html`<p class="note small">The configuration declares it at <code>${of.declared_at}</code>. Yours holds until it is deleted; then the configuration holds again.</p>`}
    ${of?.kind === 'webhook' && html`<p class="note warning small">The address, the secret and the headers of a webhook are not shown: write the address again. One with a secret or headers is changed in the configuration.</p>`}
    <div class="fields">
      <${TextField} label="Name" name="name" value=${draft.name} isFixed=${of !== undefined} isCode isRequired placeholder="no-project-names" onChange=${(name: string) => change({ name })} />
      <${SelectField} label="Kind" name="kind" value=${draft.kind} options=${kinds} isFixed=${of !== undefined} onChange=${turn} />
    </div>
    <div class="fields">
      <${SelectField} label="Mode" name="mode" value=${draft.mode} options=${modes} onChange=${(mode: string) => change({ mode })} />
      <${TextField} label="Order" name="order" value=${draft.order} hint="A lower number looks first." onChange=${(order: string) => change({ order })} />
      <${SelectField} label="Looks at" name="on" value=${draft.on} options=${phases} onChange=${(on: string) => change({ on })} />
    </div>
    <${SettingsForm} kind=${draft.kind} written=${draft.settings} onChange=${(texts: Texts) => change({ settings: { ...draft.settings, texts } })} />
    <div class="fields">
      <${TextField} label="Only for these user paths" name="user_paths" rows=${2} isCode value=${draft.user_paths} hint="One on each line. Empty: for everyone." onChange=${(user_paths: string) => change({ user_paths })} />
      <${TextField} label="Only for these models" name="models" rows=${2} isCode value=${draft.models} hint="One on each line. Empty: for all." onChange=${(models: string) => change({ models })} />
    </div>
    ${yaml !== '' && html`<details><summary class="small">The same as YAML, for git</summary><div class="copied"><pre tabindex="0">${yaml}</pre><${CopyButton} text=${yaml} what="YAML" /></div></details>`}
  </${FormDialog}>`;
}
