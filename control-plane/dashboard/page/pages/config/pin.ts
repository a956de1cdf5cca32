// Rolls the configuration back: the window that pins a revision, with a reason and an end, and its button.
import { useState } from 'preact/hooks';
import { ApiError } from '../../api.ts';
import { html, type View } from '../../html.ts';
import { EndFields, type Ending } from '../../parts/end-fields.ts';
import { ForRole } from '../../parts/for-role.ts';
import { FieldMistake, FormDialog } from '../../parts/form-dialog.ts';
import { pinPath } from '../../parts/pin-banner.ts';
import { write } from '../../parts/writes.ts';
import { parseLocal, utcTime } from '../../time.ts';

export interface PinButtonProps {
  /** An id, or `previous`. */
  readonly revision: string;
  readonly text: string;
}

/** For administrators of the whole gateway. */
export function PinButton({ revision, text }: PinButtonProps): View {
  const [isOpen, setOpen] = useState(false);
  return html`<${ForRole} needs="admin" isWhole>
    <button onClick=${() => setOpen(true)}>${text}</button>
    ${isOpen && html`<${PinDialog} revision=${revision} onClose=${() => setOpen(false)} />`}
  </${ForRole}>`;
}

/** The card of the page. `revision`: the one in force. */
export function RollBack({ revision }: { readonly revision: string }): View {
  return html`<${ForRole} needs="admin" isWhole><section class="card" aria-labelledby="roll-back">
    <h2 id="roll-back">Roll back</h2>
    <p class="small">Pins a revision on all proxies until an end, whatever git and the directories say: what is pushed meanwhile waits.</p>
    <div class="buttons">
      <${PinButton} revision="previous" text="Roll back to the previous one" />
      <${PinButton} revision=${revision} text="Keep to the one in force" />
    </div>
  </section></${ForRole}>`;
}

/** The field that a member of the body comes from, where it has another name. */
const fieldOf: Readonly<Record<string, keyof Ending>> = { expires_at: 'endAt', expires_in: 'end' };

function PinDialog({ revision, onClose }: { readonly revision: string; readonly onClose: () => void }): View {
  const [draft, setDraft] = useState<Ending>({ reason: '', end: '2h', endAt: '' });
  const change = (some: Partial<Ending>): void => setDraft((before) => ({ ...before, ...some }));
  const name = revision === 'previous' ? 'the previous revision' : `revision ${revision}`;
  const submit = async (): Promise<void> => {
    const { reason, end, endAt } = draft;
    if (reason.trim() === '') throw new FieldMistake('reason', 'Say why: everybody reads it while it is pinned.');
    const at = end === 'at' ? parseLocal(endAt) : 0;
    if (Number.isNaN(at)) throw new FieldMistake('endAt', 'Say when it ends.');
    const until = end === 'at' ? { expires_at: utcTime(at) } : { expires_in: end };
    const question = { method: 'PUT', body: { revision, reason: reason.trim(), ...until } } as const;
    await write(`Pinned: ${name}`, pinPath, question).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.param === undefined || error.param === 'revision') throw error;
      throw new FieldMistake(fieldOf[error.param] ?? error.param, error.message);
    });
    onClose();
  };
  return html`<${FormDialog} title=${`Pin ${name}`} action="Pin it" isDangerous onSubmit=${submit} onClose=${onClose}>
    <p class="small">All proxies and the control plane keep to it until the end. What git holds then is put in force.</p>
    <${EndFields} draft=${draft} change=${change} mustEnd />
  </${FormDialog}>`;
}
