// YAML to be put into a file of the configuration.
import { html, type View } from '../html.ts';
import { CopyButton } from './copy-button.ts';

export function YamlText({ text }: { readonly text: string }): View {
  return html`<div class="copied">
    <pre tabindex="0">${text}</pre>
    <${CopyButton} text=${text} what="YAML" />
  </div>`;
}
