// A window with a form: it stays until the change is stored, and says at the field what is wrong.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { html, type View } from '../html.ts';
import { Dialog } from './dialog.ts';
import { FieldProblem, type Problem } from './fields.ts';

/** A mistake in a field, thrown by `onSubmit`. */
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
  /** The text of the button: `Create key`. */
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
      const { name, message } = problemOf(error);
      const field = fieldFor(form.current, name);
      setProblem({ field: field?.name ?? '', message });
      setBusy(false);
      field?.focus();
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form ref=${form} onSubmit=${submit} novalidate>
      <${FieldProblem.Provider} value=${problem}>${children}</${FieldProblem.Provider}>
      ${problem?.field === '' && html`<p class="problem" role="alert">${problem.message}</p>`}
      <div class="buttons">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button class=${isDangerous ? 'danger' : 'primary'} disabled=${isBusy}>${isBusy ? 'Storing…' : action}</button>
      </div>
    </form>
  </${Dialog}>`;
}

interface Wrong {
  /** Of the member or field. */
  readonly name: string;
  readonly message: string;
}

function problemOf(error: unknown): Wrong {
  if (error instanceof FieldMistake) return { name: error.field, message: error.message };
  if (error instanceof ApiError) return { name: error.param ?? '', message: error.message };
  throw error;
}

/** The field of a member: of `targets[1].model` the field `targets`, of `limits` the first of its fields. */
function fieldFor(form: HTMLFormElement | null, member: string): HTMLInputElement | undefined {
  const fields = [...(form?.elements ?? [])].filter((each) => 'name' in each && each.name !== '') as HTMLInputElement[];
  for (let name = member; name !== ''; name = name.slice(0, Math.max(0, name.search(/[.[][^.[]*$/)))) {
    const field = fields.find((each) => each.name === name);
    if (field !== undefined) return field;
  }
  return fields.find(({ name }) => name.startsWith(`${member}.`));
}
