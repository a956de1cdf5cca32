// YAML to be put into a file of the configuration.
import { html, type View } from '../html.ts';
import { CopyButton } from './copy-button.ts';

const plain = /^\/?[a-z][a-z0-9/._-]*$/i;
const typed = /^(true|false|yes|no|on|off|null|y|n)$/i;

export function YamlText({ text }: { readonly text: string }): View {
  return html`<div class="copied">
    <pre tabindex="0">${text}</pre>
    <${CopyButton} text=${text} what="YAML" />
  </div>`;
}

/** A text as a scalar: plain where YAML reads it as this text, else a JSON string, which is YAML, too. */
export function yamlScalar(text: string): string {
  return plain.test(text) && !typed.test(text) ? text : JSON.stringify(text);
}
