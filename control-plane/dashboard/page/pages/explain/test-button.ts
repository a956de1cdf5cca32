// Shows a test of the configuration that was made of a request, to be copied or saved.
import { useState } from 'preact/hooks';
import { html, type View } from '../../html.ts';
import { keepFile } from '../../keep-file.ts';
import { Dialog } from '../../parts/dialog.ts';
import { YamlText } from '../../parts/yaml-text.ts';

export interface TestButtonProps {
  /** YAML; undefined: no test can be made of the request. */
  readonly text: string | undefined;
  /** Of the file, without its ending. */
  readonly name: string;
}

export function TestButton({ text, name }: TestButtonProps): View {
  // As it was when it was asked for: an explanation goes on changing.
  const [shown, show] = useState<string | undefined>(undefined);
  const file = `${name.replaceAll(/[^\w-]+/g, '-')}.test.yaml`;
  if (text === undefined) return null;
  return html`<button type="button" class="row" onClick=${() => show(text)}>Make a test</button>
    ${
      shown !== undefined &&
      html`<${Dialog} title="A test of the configuration" onClose=${() => show(undefined)}>
        <p class="small">It expects what became of this request. Keep it in the configuration directory, in a file <code>*.test.yaml</code>: <code>model-gateway check DIR --test</code> runs it.</p>
        <${YamlText} text=${shown} />
        <div class="buttons"><button type="button" onClick=${() => keepFile(shown, file, 'application/yaml')}>Save as ${file}</button></div>
      </${Dialog}>`
    }`;
}
