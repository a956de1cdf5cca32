// A window with a form: it stays until the change is stored, and says at the field what is wrong.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { html, type View } from '../html.ts';
import { Dialog } from './dialog.ts';
import { FieldProblem, type Problem } from './fields.ts';

/** What was written cannot be sent: thrown by `onSubmit`. */
export class FieldMistake extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.name = 'FieldMistake';
    this.field = field;
  }
}

export interface FormDialogProps {
  readonly title: string;
  /** What the button says: `Create key`. */
  readonly action: string;
  /** Resolves when it is stored; rejects with `FieldMistake`, or with `ApiError` whose `param` is the name of a field. */
  readonly onSubmit: () => Promise<void>;
  readonly onClose: () => void;
  readonly isDangerous?: boolean;
  readonly children?: ComponentChildren;
}

export function FormDialog({ title, action, onSubmit, onClose, isDangerous = false, children }: FormDialogProps): View {
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      await onSubmit();
    } catch (error) {
      const found = problemOf(error);
      setProblem(found);
      setBusy(false);
      form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(found.field)}"]`)?.focus();
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form ref=${form} onSubmit=${submit} novalidate>
      <${FieldProblem.Provider} value=${problem}>${children}</${FieldProblem.Provider}>
      ${problem !== undefined && html`<p class="problem" role="alert">${problem.message}</p>`}
      <div class="buttons">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button class=${isDangerous ? 'danger' : 'primary'} disabled=${isBusy}>${isBusy ? 'Storing…' : action}</button>
      </div>
    </form>
  </${Dialog}>`;
}

function problemOf(error: unknown): Problem {
  if (error instanceof FieldMistake) return error;
  // `targets[1].model` is a part of the field `targets`.
  if (error instanceof ApiError) return { field: (error.param ?? '').split(/[.[]/)[0] ?? '', message: error.message };
  throw error;
}
