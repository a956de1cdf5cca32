// The window in which it is set when the windows of named periods begin.
import { useState } from 'preact/hooks';
import type { BudgetSettingsWrite } from '../../../../../schemas/types.ts';
import { html, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { Dialog } from '../../parts/dialog.ts';
import { SelectField, TextField } from '../../parts/fields.ts';
import { FieldMistake, FormDialog } from '../../parts/form-dialog.ts';
import { Loaded } from '../../parts/states.ts';
import { write } from '../../parts/writes.ts';

type Name = keyof BudgetSettingsWrite;
type Settings = Readonly<Record<Name, number>>;

interface WindowField {
  readonly name: Name;
  readonly label: string;
  readonly options?: readonly (readonly [value: string, text: string])[];
  readonly hint?: string;
}

const settingsPath = '/admin/budgets/settings';
const title = 'When windows begin';
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** The fields of each period, in their order. */
const periods: readonly (readonly [legend: string, fields: readonly WindowField[]])[] = [
  [
    'Days',
    [
      { name: 'daily_reset_hour', label: 'Hour of the day' },
      { name: 'daily_reset_minute', label: 'Minute of the day' },
    ],
  ],
  [
    'Weeks',
    [
      {
        name: 'weekly_reset_weekday',
        label: 'First day of the week',
        options: weekdays.map((day, index) => [String(index), day]),
      },
      { name: 'weekly_reset_hour', label: 'Hour of the week' },
      { name: 'weekly_reset_minute', label: 'Minute of the week' },
    ],
  ],
  [
    'Months',
    [
      { name: 'monthly_reset_day', label: 'First day of the month', hint: 'In a shorter month: its last day.' },
      { name: 'monthly_reset_hour', label: 'Hour of the month' },
      { name: 'monthly_reset_minute', label: 'Minute of the month' },
    ],
  ],
];

export interface WindowsDialogProps {
  /** Called with true when something was stored. */
  readonly onClose: (isChanged: boolean) => void;
}

export function WindowsDialog({ onClose }: WindowsDialogProps): View {
  const settings = useLoad<Settings>(settingsPath);
  if (settings.body !== undefined) return html`<${WindowsForm} settings=${settings.body} onClose=${onClose} />`;
  return html`<${Dialog} title=${title} onClose=${() => onClose(false)}>
    <${Loaded} of=${settings} what="settings">${() => null}</${Loaded}>
  </${Dialog}>`;
}

function WindowsForm({ settings, onClose }: WindowsDialogProps & { readonly settings: Settings }): View {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)])),
  );
  const store = async (): Promise<void> => {
    const changed = Object.entries(texts).filter(([name, text]) => text.trim() !== String(settings[name as Name]));
    const wrong = changed.find(([, text]) => !/^\d{1,3}$/.test(text.trim()));
    if (wrong !== undefined) throw new FieldMistake(wrong[0], 'Write a whole number.');
    const body = Object.fromEntries(changed.map(([name, text]) => [name, Number(text)]));
    if (changed.length > 0) await write('Windows of budgets: changed', settingsPath, { method: 'PUT', body });
    onClose(changed.length > 0);
  };
  const fieldOf = ({ name, label, options, hint }: WindowField): View => {
    const common = {
      label,
      name,
      hint,
      value: texts[name],
      onChange: (text: string) => setTexts({ ...texts, [name]: text }),
    };
    return options === undefined
      ? html`<${TextField} key=${name} ...${common} isNumber isRequired />`
      : html`<${SelectField} key=${name} ...${common} options=${options} />`;
  };
  return html`<${FormDialog} title=${title} action="Store" onSubmit=${store} onClose=${() => onClose(false)}>
    <p class="small quiet">In UTC, for budgets by the day, the week and the month. What is changed here holds in place of the configuration, and the spend of a window that has begun is counted from its new beginning.</p>
    ${periods.map(([legend, fields]) => html`<fieldset class="field" key=${legend}><legend>${legend}</legend><div class="fields">${fields.map(fieldOf)}</div></fieldset>`)}
  </${FormDialog}>`;
}
