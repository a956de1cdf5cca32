// The fields of what a guardrail does, drawn from the table of its kind.
import { html, type View } from '../../html.ts';
import { CheckField, ChoicesField, SelectField, TextField } from '../../parts/fields.ts';
import { type Kind, kindWords } from './guardrail.ts';
import type { SettingField } from './settings.ts';
import { fieldsOf, type Texts, type Written } from './settings-text.ts';

export interface SettingsFormProps {
  readonly kind: Kind;
  readonly written: Written;
  readonly onChange: (texts: Texts) => void;
}

export function SettingsForm({ kind, written: { texts, asJson }, onChange }: SettingsFormProps): View {
  return html`<fieldset class="settings">
    <legend>${kindWords[kind]}</legend>
    ${fieldsOf(kind, asJson).map(
      ([name, field]) =>
        html`<${Setting} key=${`${kind}.${name}`} name=${`${kind}.${name}`} field=${field} value=${texts[name] ?? ''} onChange=${(text: string) => onChange({ ...texts, [name]: text })} />`,
    )}
  </fieldset>`;
}

interface SettingProps {
  /** As the API names it when it is wrong: `keywords.action`. */
  readonly name: string;
  readonly field: SettingField;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function Setting({ name, field, value, onChange }: SettingProps): View {
  const { label, type, options = [], hint, placeholder, isRequired, suggest } = field;
  const common = { label, name, value, hint, isRequired, onChange };
  if (type === 'check')
    return html`<${CheckField} name=${name} value=${value === 'true'} onChange=${(isOn: boolean) => onChange(String(isOn))}>${label}</${CheckField}>`;
  if (type === 'choice') return html`<${SelectField} ...${common} options=${options} />`;
  if (type === 'choices')
    return html`<${ChoicesField} ...${common} value=${value.split('\n')} options=${options} onChange=${(chosen: readonly string[]) => onChange(chosen.join('\n'))} />`;
  const shape = {
    text: {},
    number: { isNumber: true },
    words: { rows: 4 },
    lines: { rows: 4, isCode: true },
    json: { rows: 8, isCode: true },
  }[type];
  return html`<${TextField} ...${common} ...${shape} placeholder=${placeholder} suggest=${suggest} />`;
}
