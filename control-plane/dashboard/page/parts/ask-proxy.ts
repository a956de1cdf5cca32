// In place of what only a proxy can answer: the window is open at the control plane itself.
import { html, type View } from '../html.ts';
import { CopyButton } from './copy-button.ts';

/** `what`: the reason, such as `Counters live in the proxies`. */
export function AskProxy({ what }: { readonly what: string }): View {
  const address = `${location.pathname}${location.search}`;
  return html`<div class="state empty" role="status">
    <p><strong>Only a proxy can answer this.</strong></p>
    <p>${what}, and this window is open at the address of the control plane itself. Open the same page at the address of a proxy, the one that clients send requests to:</p>
    <pre tabindex="0">https://your-proxy${address}</pre>
    <${CopyButton} text=${address} what="path" />
  </div>`;
}
