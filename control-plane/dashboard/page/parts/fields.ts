// Fields of a form with their labels and hints; the one that is wrong is marked.
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useId } from 'preact/hooks';
import { html, type View } from '../html.ts';
import { textOf } from './dialog.ts';

export interface Problem {
  /** The name of the field. */
  readonly field: string;
  readonly message: string;
}

/** What is wrong in the form around a field. */
export const FieldProblem = createContext<Problem | undefined>(undefined);

interface FieldProps {
  readonly label: string;
  /** Of the member that it fills in. */
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly isFixed?: boolean;
}

export interface TextFieldProps extends FieldProps {
  readonly placeholder?: string;
  readonly type?: 'text' | 'number' | 'datetime-local';
  /** Several lines. */
  readonly rows?: number;
  readonly isCode?: boolean;
}

export function TextField(props: TextFieldProps): View {
  const {
    label,
    name,
    value,
    onChange,
    hint,
    isFixed = false,
    placeholder,
    type = 'text',
    rows,
    isCode = false,
  } = props;
  const id = useId();
  const isWrong = useContext(FieldProblem)?.field === name;
  const common = {
    id,
    name,
    value,
    placeholder,
    disabled: isFixed,
    autocomplete: 'off',
    spellcheck: false,
    class: isCode ? 'code' : undefined,
    'aria-invalid': isWrong,
    'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
    onInput: (event: Event) => onChange(textOf(event)),
  };
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${rows === undefined ? html`<input type=${type} ...${common} />` : html`<textarea rows=${rows} ...${common}></textarea>`}
    ${hint !== undefined && html`<p class="small quiet" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}

export interface SelectFieldProps extends FieldProps {
  readonly options: readonly (readonly [value: string, text: string])[];
}

export function SelectField({ label, name, value, onChange, hint, isFixed = false, options }: SelectFieldProps): View {
  const id = useId();
  const isWrong = useContext(FieldProblem)?.field === name;
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <select
      id=${id}
      name=${name}
      value=${value}
      disabled=${isFixed}
      aria-invalid=${isWrong}
      aria-describedby=${hint === undefined ? undefined : `${id}-hint`}
      onChange=${(event: Event) => onChange(textOf(event))}
    >
      ${options.map(([each, text]) => html`<option value=${each} key=${each}>${text}</option>`)}
    </select>
    ${hint !== undefined && html`<p class="small quiet" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}

export interface CheckFieldProps {
  readonly name: string;
  readonly value: boolean;
  readonly onChange: (value: boolean) => void;
  readonly isFixed?: boolean;
  /** What it says. */
  readonly children?: ComponentChildren;
}

export function CheckField({ name, value, onChange, isFixed = false, children }: CheckFieldProps): View {
  const isWrong = useContext(FieldProblem)?.field === name;
  return html`<label class="check">
    <input type="checkbox" name=${name} checked=${value} disabled=${isFixed} aria-invalid=${isWrong} onChange=${() => onChange(!value)} />
    <span>${children}</span>
  </label>`;
}

/** The entries of a field that takes one on each line, or several with commas between them. */
export function entriesOf(text: string): string[] {
  return [...new Set(text.split(/[\n,]/).map((each) => each.trim()))].filter((each) => each !== '');
}
