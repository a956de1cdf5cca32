// The window in which kept answers are forgotten: all of them, those of a user path, or those of a model.
import { useState } from 'preact/hooks';
import { html, type View } from '../../html.ts';
import { SelectField, TextField } from '../../parts/fields.ts';
import { FieldMistake, FormDialog } from '../../parts/form-dialog.ts';
import { write } from '../../parts/writes.ts';

type Which = 'model' | 'user_path' | 'gateway';

const choices: readonly (readonly [Which, string])[] = [
  ['user_path', 'Of a user path and all below it'],
  ['model', 'Of a model or alias'],
  ['gateway', 'All of them'],
];

export interface ClearDialogProps {
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function ClearDialog({ onDone, onClose }: ClearDialogProps): View {
  const [which, setWhich] = useState<Which>('user_path');
  const [value, setValue] = useState('');
  const submit = async (): Promise<void> => {
    const given = value.trim();
    if (given === '' && which !== 'gateway')
      throw new FieldMistake(which, which === 'model' ? 'Say which model.' : 'Say which user path.');
    const query = which === 'gateway' ? { scope: which } : { [which]: given };
    const what = which === 'gateway' ? 'Every cached answer' : `Cached answers of ${given}`;
    await write(`${what}: forgotten`, `/admin/cache?${new URLSearchParams(query)}`, { method: 'DELETE' });
    onDone();
  };
  return html`<${FormDialog} title="Forget cached answers" action="Forget answers" isDangerous onSubmit=${submit} onClose=${onClose}>
    <p>Within a second no request gets any of them. What is asked next is asked of a provider again, and costs.</p>
    <${SelectField} label="Which answers" name="scope" value=${which} options=${choices} onChange=${(chosen: string) => setWhich(chosen as Which)} />
    ${
      which !== 'gateway' &&
      html`<${TextField} key=${which} label=${which === 'model' ? 'Model' : 'User path'} name=${which} value=${value} isCode placeholder=${which === 'model' ? 'chat' : '/team-a'} suggest=${which === 'model' ? 'models' : 'user_paths'} onChange=${setValue} />`
    }
  </${FormDialog}>`;
}
