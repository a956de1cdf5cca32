// How to send the first request: in the playground, or as a command. In place of lists that are empty because nothing was sent.
import { html, type View } from '../../html.ts';
import { CopyButton } from '../../parts/copy-button.ts';
import { linkTo } from '../../router.ts';
import { programOf } from './programs.ts';

const body = { model: 'chat', messages: [{ role: 'user', content: 'What is a gateway?' }] } as const;

export function FirstRequest(): View {
  const text = programOf('curl', body, location.origin);
  return html`<p><a class="button" href=${linkTo('/playground')}>Ask a model in the playground</a></p>
    <p class="small">or send a request to any proxy, with a model or alias of yours in the place of <code>chat</code>:</p>
    <div class="copied"><pre tabindex="0">${text}</pre><${CopyButton} text=${text} what="command" /></div>`;
}
