// Fields of a form with their labels and hints; the one that is wrong is marked, and says what is wrong.
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useId, useState } from 'preact/hooks';
import { html, type View } from '../html.ts';
import { fieldText } from './dialog.ts';
import { type NameKind, Suggestions } from './suggestions.ts';

export interface Problem {
  /** The name of the field. */
  readonly field: string;
  readonly message: string;
}

/** The mistake in the form around a field. */
export const FieldProblem = createContext<Problem | undefined>(undefined);

interface FieldProps {
  readonly label: string;
  /** Of the member that it fills in. */
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly isFixed?: boolean;
  /** Screen readers say so; what is missing is said when the form is sent. */
  readonly isRequired?: boolean;
}

export interface TextFieldProps extends FieldProps {
  readonly placeholder?: string;
  readonly type?: 'text' | 'datetime-local';
  /** Several lines. */
  readonly rows?: number;
  readonly isCode?: boolean;
  readonly isNumber?: boolean;
  /** It is completed with such names. Of one line alone. */
  readonly suggest?: NameKind;
}

export function TextField(props: TextFieldProps): View {
  const { label, name, value, onChange, hint, placeholder, type = 'text', rows, suggest } = props;
  const id = useId();
  const [isUsed, setUsed] = useState(false);
  const list = suggest === undefined ? undefined : `${id}-names`;
  const common = {
    ...useMarks(id, props),
    value,
    placeholder,
    inputmode: props.isNumber ? 'numeric' : undefined,
    autocomplete: 'off',
    spellcheck: false,
    class: props.isCode ? 'code' : undefined,
    list,
    onFocus: () => setUsed(true),
    onInput: (event: Event) => onChange(fieldText(event)),
  };
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${rows === undefined ? html`<input type=${type} ...${common} />` : html`<textarea rows=${rows} ...${common}></textarea>`}
    ${isUsed && list !== undefined && html`<${Suggestions} id=${list} of=${suggest} text=${value} />`}
    <${Notes} id=${id} name=${name} hint=${hint} />
  </div>`;
}

type Options = readonly (readonly [value: string, text: string])[];

export interface SelectFieldProps extends FieldProps {
  readonly options: Options;
}

export function SelectField(props: SelectFieldProps): View {
  const { label, name, value, onChange, hint, options } = props;
  const id = useId();
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <select value=${value} onChange=${(event: Event) => onChange(fieldText(event))} ...${useMarks(id, props)}>
      ${options.map(([each, text]) => html`<option value=${each} key=${each}>${text}</option>`)}
    </select>
    <${Notes} id=${id} name=${name} hint=${hint} />
  </div>`;
}

export interface CheckFieldProps {
  readonly name: string;
  readonly value: boolean;
  readonly onChange: (value: boolean) => void;
  readonly isFixed?: boolean;
  /** Its text. */
  readonly children?: ComponentChildren;
}

export function CheckField(props: CheckFieldProps): View {
  const { name, value, onChange, children } = props;
  const id = useId();
  return html`<div>
    <label class="check">
      <input type="checkbox" checked=${value} onChange=${() => onChange(!value)} ...${useMarks(id, props)} />
      <span>${children}</span>
    </label>
    <${Notes} id=${id} name=${name} />
  </div>`;
}

export interface ChoicesFieldProps extends Omit<FieldProps, 'value' | 'onChange'> {
  readonly options: Options;
  readonly value: readonly string[];
  readonly onChange: (value: readonly string[]) => void;
}

/** Any number of the options. */
export function ChoicesField({ label, name, value, onChange, hint, options }: ChoicesFieldProps): View {
  const id = useId();
  const turned = (each: string): readonly string[] =>
    options.map(([one]) => one).filter((one) => (one === each) !== value.includes(one));
  return html`<fieldset class="field" aria-describedby=${useNotes(id, name, hint)}>
    <legend>${label}</legend>
    <div class="choices">
      ${options.map(
        ([each, text]) => html`<label class="check" key=${each}>
          <input type="checkbox" name=${name} checked=${value.includes(each)} onChange=${() => onChange(turned(each))} />
          <span>${text}</span>
        </label>`,
      )}
    </div>
    <${Notes} id=${id} name=${name} hint=${hint} />
  </fieldset>`;
}

interface Marked {
  readonly name: string;
  readonly hint?: ComponentChildren;
  readonly isFixed?: boolean;
  readonly isRequired?: boolean;
}

/** The attributes of a field's element. */
function useMarks(id: string, { name, hint, isFixed = false, isRequired = false }: Marked): object {
  const isWrong = useContext(FieldProblem)?.field === name;
  const noted = useNotes(id, name, hint);
  return {
    id,
    name,
    disabled: isFixed,
    required: isRequired,
    'aria-invalid': isWrong,
    'aria-describedby': noted,
  };
}

/** The ids of the notes below a field. */
function useNotes(id: string, name: string, hint: ComponentChildren): string | undefined {
  const isWrong = useContext(FieldProblem)?.field === name;
  const ids = [...(isWrong ? [`${id}-problem`] : []), ...(hint === undefined ? [] : [`${id}-hint`])];
  return ids.length === 0 ? undefined : ids.join(' ');
}

interface NotesProps {
  /** Of the field. */
  readonly id: string;
  readonly name: string;
  readonly hint?: ComponentChildren;
}

/** The mistake in a field, and its hint. */
export function Notes({ id, name, hint }: NotesProps): View {
  const problem = useContext(FieldProblem);
  return html`${problem?.field === name && html`<p class="small problem" role="alert" id=${`${id}-problem`}>${problem.message}</p>`}
    ${hint !== undefined && html`<p class="small quiet" id=${`${id}-hint`}>${hint}</p>`}`;
}

/** The entries of a field that takes one on each line, or several with commas between them. */
export function entriesOf(text: string): string[] {
  return [...new Set(text.split(/[\n,]/).map((each) => each.trim()))].filter((each) => each !== '');
}
