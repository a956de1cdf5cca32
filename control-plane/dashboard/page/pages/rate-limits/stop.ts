// Stops the requests of a user path for a while: the button, and the window that says until when and why.
import { useState } from 'preact/hooks';
import { ApiError } from '../../api.ts';
import { html, type View } from '../../html.ts';
import { EndFields, type Ending } from '../../parts/end-fields.ts';
import { TextField } from '../../parts/fields.ts';
import { ForRole } from '../../parts/for-role.ts';
import { FieldMistake, FormDialog } from '../../parts/form-dialog.ts';
import { write } from '../../parts/writes.ts';
import { parseLocal, utcTime } from '../../time.ts';

export interface StopButtonProps {
  /** Whom it is offered for; empty: the operator writes it. */
  readonly userPath: string;
  /** Among the facts of a card. */
  readonly isSmall?: boolean;
  readonly onDone?: () => void;
}

/** Not there for a viewer. */
export function StopButton({ userPath, isSmall = false, onDone }: StopButtonProps): View {
  const [isOpen, setOpen] = useState(false);
  const done = (): void => {
    setOpen(false);
    onDone?.();
  };
  return html`<${ForRole} needs="operator"><button class=${isSmall ? 'danger row' : 'danger'} onClick=${() => setOpen(true)}>Stop requests</button></${ForRole}>
    ${isOpen && html`<${StopDialog} userPath=${userPath} onDone=${done} onClose=${() => setOpen(false)} />`}`;
}

interface Draft extends Ending {
  readonly subject: string;
}

/** The field that a member of the body comes from, where it has another name. */
const fieldOf: Readonly<Record<string, keyof Draft>> = { user_path: 'subject', expires_at: 'endAt', expires_in: 'end' };

interface StopDialogProps {
  readonly userPath: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function StopDialog({ userPath, onDone, onClose }: StopDialogProps): View {
  const [draft, setDraft] = useState<Draft>({ subject: userPath, reason: '', end: '30m', endAt: '' });
  const change = (some: Partial<Draft>): void => setDraft((before) => ({ ...before, ...some }));
  const submit = async (): Promise<void> => {
    const body = bodyOf(draft);
    await write(`${draft.subject.trim()}: stopped`, '/admin/rate-limits', { method: 'PUT', body }).catch(
      (error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        throw new FieldMistake(fieldOf[error.param ?? ''] ?? error.param ?? '', error.message);
      },
    );
    onDone();
  };
  return html`<${FormDialog} title="Stop requests" action="Stop requests" isDangerous onSubmit=${submit} onClose=${onClose}>
    <p class="small">Requests of this path, and of all below it, are refused with 429 until the end; open ones go on. To end it sooner, allow them again on the page of rate limits.</p>
    <${TextField} label="User path" name="subject" value=${draft.subject} placeholder="/team-a" suggest="user_paths" onChange=${(value: string) => change({ subject: value })} />
    ${draft.subject.trim() === '/' && html`<p class="note warning small" role="status">All requests of everybody are below this path.</p>`}
    <${EndFields} draft=${draft} change=${change} mustEnd />
  </${FormDialog}>`;
}

/** A cap of zero requests at a time: of all periods the one without counters, so that none is lost when it ends. */
function bodyOf({ subject, reason, end, endAt }: Draft): object {
  if (subject.trim() === '') throw new FieldMistake('subject', 'Say whose requests.');
  if (reason.trim() === '') throw new FieldMistake('reason', 'Say why: other operators read it.');
  const at = end === 'at' ? parseLocal(endAt) : 0;
  if (Number.isNaN(at)) throw new FieldMistake('endAt', 'Say when they are allowed again.');
  const until = end === 'at' ? { expires_at: utcTime(at) } : { expires_in: end };
  const limit_key = { period: 'concurrent' };
  return { user_path: subject.trim(), limit_key, max_requests: 0, reason: reason.trim(), ...until };
}
