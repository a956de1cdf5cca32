// The windows of the page of keys: create, edit, rotate, deactivate, delete, and the secret that is shown once.
import { useState } from 'preact/hooks';
import { html, type View } from '../../html.ts';
import { CopyButton } from '../../parts/copy-button.ts';
import { ConfirmDialog, Dialog } from '../../parts/dialog.ts';
import { CheckField, SelectField, TextField } from '../../parts/fields.ts';
import { FieldMistake, FormDialog } from '../../parts/form-dialog.ts';
import { write } from '../../parts/writes.ts';
import type { Who } from '../../session-state.ts';
import { accessOf, changeBody, type Draft, draftOf, ends, mistakeIn, newBody, roleTexts } from './draft.ts';
import { type IssuedKey, type Key, keysPath } from './key.ts';

export interface KeyDialogProps {
  /** Absent: a new key. */
  readonly of?: Key;
  readonly who: Who;
  /** Called with the key when a new secret is to be shown. */
  readonly onDone: (issued?: IssuedKey) => void;
  readonly onClose: () => void;
}

/** A new key, or an edit. */
export function KeyDialog({ of: key, who, onDone, onClose }: KeyDialogProps): View {
  const [draft, setDraft] = useState<Draft>(() => draftOf(key, who.user_path));
  const change = (some: Partial<Draft>): void => setDraft((before) => ({ ...before, ...some }));
  const submit = async (): Promise<void> => {
    const mistake = mistakeIn(draft);
    if (mistake !== undefined) throw new FieldMistake(...mistake);
    if (key === undefined) {
      const name = draft.name.trim();
      onDone(await write<IssuedKey>(`Key ${name}: created`, keysPath, { method: 'POST', body: newBody(draft) }));
      return;
    }
    await store(key, draft);
    onDone();
  };
  return html`<${FormDialog} title=${key === undefined ? 'New key' : `Edit ${key.name}`} action=${key === undefined ? 'Create key' : 'Store key'} onSubmit=${submit} onClose=${onClose}>
    <${NameFields} draft=${draft} change=${change} />
    <${AccessFields} draft=${draft} change=${change} who=${who} isNew=${key === undefined} />
    <div class="fields">
      <${SelectField} label="Expires" name="expires_in" value=${draft.end} options=${ends} onChange=${(end: string) => change({ end })} />
      ${draft.end === 'at' && html`<${TextField} label="Expires at (your time)" name="endAt" type="datetime-local" value=${draft.endAt} onChange=${(endAt: string) => change({ endAt })} />`}
    </div>
  </${FormDialog}>`;
}

/** The API changes access to the dashboard in a request of its own. */
async function store(key: Key, draft: Draft): Promise<void> {
  const path = `${keysPath}/${encodeURIComponent(key.id)}`;
  const body = changeBody(draft, key);
  if (Object.keys(body).length > 0) await write(`Key ${key.name}: changed`, path, { method: 'PATCH', body });
  const role = draft.dashboard_access ? draft.role : undefined;
  if (role === key.role) return;
  const what = `Key ${key.name}: dashboard ${role === undefined ? 'withdrawn' : `for a ${role}`}`;
  await write(what, `${path}/dashboard-access`, { method: 'PUT', body: accessOf(draft) });
}

interface FieldsProps {
  readonly draft: Draft;
  readonly change: (some: Partial<Draft>) => void;
}

function NameFields({ draft, change }: FieldsProps): View {
  return html`<div class="fields">
    <${TextField} label="Name" name="name" value=${draft.name} placeholder="Ann, editor" onChange=${(name: string) => change({ name })} />
    <${TextField} label="Labels" name="labels" value=${draft.labels} placeholder="editors, batch" hint="With commas between them." onChange=${(labels: string) => change({ labels })} />
  </div>
  <${TextField} label="Description (optional)" name="description" value=${draft.description} onChange=${(description: string) => change({ description })} />`;
}

function AccessFields({
  draft,
  change,
  who,
  isNew,
}: FieldsProps & { readonly who: Who; readonly isNew: boolean }): View {
  const root = who.scoped
    ? `Within ${who.user_path}.`
    : 'Limits and budgets of this path hold for the key. Empty: the root.';
  return html`<${TextField} label="User path" name="user_path" value=${draft.user_path} isFixed=${draft.any_user_path} placeholder="/team-a/app" hint=${root} isCode suggest="user_paths" onChange=${(user_path: string) => change({ user_path })} />
    ${
      isNew &&
      !who.scoped &&
      html`<${CheckField} name="any_user_path" value=${draft.any_user_path} onChange=${(any_user_path: boolean) => change({ any_user_path })}>Each request may name any user path in a header, for clients that serve several users and are trusted to name them</${CheckField}>`
    }
    <${TextField} label="Models" name="allowed_models" rows=${3} isCode value=${draft.allowed_models} placeholder=${'openai/*\ngpt-4o'} hint="One on each line: an alias, provider/model, provider/* or a bare id. Empty: every model." onChange=${(allowed_models: string) => change({ allowed_models })} />
    <${CheckField} name="dashboard_access" value=${draft.dashboard_access} onChange=${(dashboard_access: boolean) => change({ dashboard_access })}>May use the dashboard and the admin API, within its user path</${CheckField}>
    ${draft.dashboard_access && html`<${SelectField} label="Role" name="role" value=${draft.role} options=${roleTexts} onChange=${(role: Draft['role']) => change({ role })} />`}`;
}

const overlaps: readonly (readonly [value: string, text: string])[] = [
  ['', 'Ends at once'],
  ['1h', 'Works for an hour more'],
  ['1d', 'Works for a day more'],
  ['7d', 'Works for 7 days more'],
];

interface OneKeyProps {
  readonly of: Key;
  readonly onDone: (issued?: IssuedKey) => void;
  readonly onClose: () => void;
}

export function RotateDialog({ of: { id, name }, onDone, onClose }: OneKeyProps): View {
  const [overlap, setOverlap] = useState('1d');
  const submit = async (): Promise<void> => {
    const path = `${keysPath}/${encodeURIComponent(id)}/rotate`;
    const body = overlap === '' ? {} : { overlap };
    onDone(await write<IssuedKey>(`Key ${name}: rotated`, path, { method: 'POST', body }));
  };
  return html`<${FormDialog} title=${`Rotate ${name}`} action="Rotate key" onSubmit=${submit} onClose=${onClose}>
    <p>A new key takes its place, with the same name, user path, models, labels and end. Its secret is shown once.</p>
    <${SelectField} label="The old key" name="overlap" value=${overlap} options=${overlaps} onChange=${setOverlap} />
  </${FormDialog}>`;
}

export function DeactivateDialog({ of: { id, name }, onDone, onClose }: OneKeyProps): View {
  const submit = async (): Promise<void> => {
    await write(`Key ${name}: revoked`, `${keysPath}/${encodeURIComponent(id)}/deactivate`, { method: 'POST' });
    onDone();
  };
  return html`<${ConfirmDialog} title=${`Deactivate ${name}`} action="Deactivate key" onConfirm=${submit} onClose=${onClose}>
    <p>Within a second every proxy refuses it with 401. It cannot be activated again. Its records stay.</p>
  </${ConfirmDialog}>`;
}

export function DeleteDialog({ of: { id, name }, onDone, onClose }: OneKeyProps): View {
  const submit = async (): Promise<void> => {
    await write(`Key ${name}: deleted`, `${keysPath}/${encodeURIComponent(id)}`, { method: 'DELETE' });
    onDone();
  };
  return html`<${ConfirmDialog} title=${`Delete ${name}`} action="Delete key" onConfirm=${submit} onClose=${onClose}>
    <p>The key leaves the list. Its records stay, with its id in place of its name.</p>
  </${ConfirmDialog}>`;
}

/** Nobody can see the secret again, so the window says so. */
export function SecretDialog({
  of: { name, value },
  onClose,
}: {
  readonly of: IssuedKey;
  readonly onClose: () => void;
}): View {
  return html`<${Dialog} title=${`The secret of ${name}`} onClose=${onClose}>
    <p class="note warning">Copy it now: it is not stored, and is never shown again.</p>
    <div class="secret">
      <code class="secret-value" tabindex="0" aria-label="Secret">${value}</code>
      <${CopyButton} text=${value} what="secret" />
    </div>
    <p class="small quiet">Clients send it as <code>Authorization: Bearer …</code>. The base address of the gateway ends in <code>/v1</code>.</p>
    <div class="buttons"><button class="primary" onClick=${onClose}>Done</button></div>
  </${Dialog}>`;
}
