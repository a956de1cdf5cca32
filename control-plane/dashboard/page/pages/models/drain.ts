// A provider or a model that an operator has taken out: its mark in a table, the button, and the windows that take it out and give it back.
import { useState } from 'preact/hooks';
import { ApiError } from '../../api.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { ConfirmDialog } from '../../parts/dialog.ts';
import { EndFields, type Ending } from '../../parts/end-fields.ts';
import { FieldMistake, FormDialog } from '../../parts/form-dialog.ts';
import { RowButtons } from '../../parts/row-buttons.ts';
import { Countdown } from '../../parts/time-text.ts';
import { write } from '../../parts/writes.ts';
import { parseLocal, utcTime } from '../../time.ts';
import { type Drain, type DrainSubject, drainName } from './fleet.ts';

/** What can be taken out, and the drain that keeps it out; undefined: it is in service. */
export interface Drainable {
  readonly subject: DrainSubject;
  readonly drain: Drain | undefined;
}

/** Says that it is out, why, by whom, and for how long. */
export function DrainMark({ drain }: { readonly drain: Drain }): View {
  const title = `Drained by ${drain.updated_by} until ${drain.expires_at}: ${drain.reason}`;
  return html`<span class="cell-line"><${Badge} tone="warn" title=${title}>taken out</${Badge}>
      <span class="quiet small">back in <${Countdown} at=${drain.expires_at} over="a moment" /></span></span>
    <span class="quiet small" title=${title}>${drain.reason}</span>`;
}

export interface DrainButtonProps extends Drainable {
  readonly onChoose: (chosen: Drainable) => void;
}

/** Of a model whose provider is out, nothing is offered: it comes back with it. */
export function DrainButton({ subject, drain, onChoose }: DrainButtonProps): View {
  const isOwn = drain === undefined || drainName(drain) === drainName(subject);
  if (!isOwn) return html`<span class="quiet small">with its provider</span>`;
  const offered = [['drain', drain === undefined ? 'Take out' : 'Give back', 'operator']] as const;
  return html`<${RowButtons} name=${drainName(subject)} offered=${offered} onChoose=${() => onChoose({ subject, drain })} />`;
}

export interface DrainDialogProps {
  readonly of: Drainable;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function DrainDialog({ of, onDone, onClose }: DrainDialogProps): View {
  const window = of.drain === undefined ? TakeOut : GiveBack;
  return html`<${window} of=${of} onDone=${onDone} onClose=${onClose} />`;
}

/** The field that a member of the body comes from, where it has another name. */
const fieldOf: Readonly<Record<string, keyof Ending>> = { expires_at: 'endAt', expires_in: 'end' };

function TakeOut({ of: { subject }, onDone, onClose }: DrainDialogProps): View {
  const name = drainName(subject);
  const [draft, setDraft] = useState<Ending>({ reason: '', end: '1h', endAt: '' });
  const change = (some: Partial<Ending>): void => setDraft((before) => ({ ...before, ...some }));
  const submit = async (): Promise<void> => {
    const { reason, end, endAt } = draft;
    if (reason.trim() === '') throw new FieldMistake('reason', 'Say why: whoever finds it out of service reads it.');
    const at = end === 'at' ? parseLocal(endAt) : 0;
    if (Number.isNaN(at)) throw new FieldMistake('endAt', 'Say when it comes back.');
    const until = end === 'at' ? { expires_at: utcTime(at) } : { expires_in: end };
    const question = { method: 'POST', body: { reason: reason.trim(), ...until } } as const;
    await write(`${name}: taken out`, pathOf(subject), question).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      throw new FieldMistake(fieldOf[error.param ?? ''] ?? error.param ?? '', error.message);
    });
    onDone();
  };
  return html`<${FormDialog} title=${`Take ${name} out`} action="Take out" isDangerous onSubmit=${submit} onClose=${onClose}>
    <p class="small">No new call goes there, on any proxy; open ones go on. Aliases lead to their other targets. Where there is none, requests are refused with 503 until the end.</p>
    <${EndFields} draft=${draft} change=${change} mustEnd />
  </${FormDialog}>`;
}

function GiveBack({ of: { subject, drain }, onDone, onClose }: DrainDialogProps): View {
  const name = drainName(subject);
  const confirm = async (): Promise<void> => {
    await write(`${name}: given back`, pathOf(subject), { method: 'DELETE' });
    onDone();
  };
  return html`<${ConfirmDialog} title=${`Give ${name} back`} action="Give back" onConfirm=${confirm} onClose=${onClose}>
    <p>New calls go there again. It was taken out by <code>${drain?.updated_by}</code>: ${drain?.reason}</p>
  </${ConfirmDialog}>`;
}

function pathOf({ provider, model }: DrainSubject): string {
  const parts = model === undefined ? [provider] : [provider, model];
  return `/admin/targets/${parts.map(encodeURIComponent).join('/')}/drain`;
}
