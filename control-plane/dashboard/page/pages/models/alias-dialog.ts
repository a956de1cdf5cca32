// The window in which an alias is written: a new one, an edit, an override of the configuration; with the YAML for git.
import { useId, useState } from 'preact/hooks';
import { html, type View } from '../../html.ts';
import { CopyButton } from '../../parts/copy-button.ts';
import { fieldText } from '../../parts/dialog.ts';
import { CheckField, Notes, SelectField, TextField } from '../../parts/fields.ts';
import { FieldMistake, FormDialog } from '../../parts/form-dialog.ts';
import { Suggestions } from '../../parts/suggestions.ts';
import { write } from '../../parts/writes.ts';
import { bodyOf, type Draft, draftOf, mistakeIn, strategies, type TargetDraft, weighted, yamlOf } from './draft.ts';
import type { Alias } from './fleet.ts';

export interface AliasDialogProps {
  /** Absent: a new alias. */
  readonly of?: Alias;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export const aliasesPath = '/admin/virtual-models';

export function AliasDialog({ of: alias, onDone, onClose }: AliasDialogProps): View {
  const [draft, setDraft] = useState<Draft>(() => draftOf(alias));
  const change = (some: Partial<Draft>): void => setDraft((before) => ({ ...before, ...some }));
  const isOverride = alias?.managed_by === 'config';
  const submit = async (): Promise<void> => {
    const mistake = mistakeIn(draft);
    if (mistake !== undefined) throw new FieldMistake(...mistake);
    const what = `Alias ${draft.source.trim()}: ${isOverride ? 'overridden' : 'stored'}`;
    await write(what, aliasesPath, { method: 'PUT', body: bodyOf(draft, alias) });
    onDone();
  };
  const title = alias === undefined ? 'New alias' : `${isOverride ? 'Override' : 'Edit'} ${alias.source}`;
  return html`<${FormDialog} title=${title} action=${isOverride ? 'Override' : 'Store alias'} onSubmit=${submit} onClose=${onClose}>
    ${isOverride && html`<p class="note small">The configuration declares this alias at <code>${alias.declared_at}</code>. Yours holds until it is deleted; then the configuration holds again.</p>`}
    <div class="fields">
      <${TextField} label="Name" name="source" value=${draft.source} isFixed=${alias !== undefined} isCode placeholder="chat" onChange=${(source: string) => change({ source })} />
      <${SelectField} label="Which target is asked first" name="strategy" value=${draft.strategy} options=${strategies} onChange=${(strategy: string) => change({ strategy })} />
    </div>
    <${TargetFields} targets=${draft.targets} strategy=${draft.strategy} onChange=${(targets: readonly TargetDraft[]) => change({ targets })} />
    <${TextField} label="Only for these user paths" name="user_paths" rows=${2} isCode value=${draft.user_paths} placeholder="/team-a" hint="One on each line. Empty: for everyone." onChange=${(user_paths: string) => change({ user_paths })} />
    <${TextField} label="Only while this condition is true (optional)" name="when" isCode value=${draft.when} placeholder="tokens < 8000 && !images" onChange=${(when: string) => change({ when })} />
    <${TextField} label="Description (optional)" name="description" value=${draft.description} onChange=${(description: string) => change({ description })} />
    <${CheckField} name="enabled" value=${draft.enabled} onChange=${(enabled: boolean) => change({ enabled })}>Switched on</${CheckField}>
    <${CheckField} name="hedge" value=${draft.hedge !== false} onChange=${(hedge: boolean) => change({ hedge })}>Ask a second target when the first is slower than usual to begin; both calls cost</${CheckField}>
    <details><summary class="small">The same as YAML, for git</summary><${AliasYaml} draft=${draft} /></details>
  </${FormDialog}>`;
}

/** A text to be copied into a file of the configuration. */
export function AliasYaml({ draft }: { readonly draft: Draft }): View {
  const text = yamlOf(draft);
  return html`<div class="copied"><pre tabindex="0">${text}</pre><${CopyButton} text=${text} what="YAML" /></div>`;
}

interface TargetFieldsProps {
  readonly targets: readonly TargetDraft[];
  readonly strategy: string;
  readonly onChange: (targets: readonly TargetDraft[]) => void;
}

function TargetFields({ targets, strategy, onChange }: TargetFieldsProps): View {
  const list = useId();
  const [used, setUsed] = useState<number | undefined>(undefined);
  const hasWeights = weighted.has(strategy);
  const put = (index: number, some: Partial<TargetDraft>): void =>
    onChange(targets.map((each, at) => (at === index ? { ...each, ...some } : each)));
  return html`<fieldset class="target-fields">
    <legend>Targets, in order</legend>
    ${used !== undefined && html`<${Suggestions} id=${`${list}-names`} of="models" text=${targets[used]?.model ?? ''} />`}
    ${targets.map(
      ({ model, weight }, index) => html`<div class="target-field" key=${index}>
        <input class="code" name="targets" aria-label=${`Target ${index + 1}`} list=${`${list}-names`} onFocus=${() => setUsed(index)} value=${model} placeholder="openai/gpt-4o" autocomplete="off" spellcheck=${false} onInput=${(event: Event) => put(index, { model: fieldText(event) })} />
        ${hasWeights && html`<input class="weight" aria-label=${`Weight of target ${index + 1}`} inputmode="numeric" value=${weight} onInput=${(event: Event) => put(index, { weight: fieldText(event) })} />`}
        <button type="button" class="plain" aria-label=${`Remove target ${index + 1}`} disabled=${targets.length === 1} onClick=${() => onChange(targets.filter((_, at) => at !== index))}>×</button>
      </div>`,
    )}
    <${Notes} id=${list} name="targets" />
    <button type="button" class="row" onClick=${() => onChange([...targets, { model: '', weight: '1' }])}>Add target</button>
  </fieldset>`;
}
