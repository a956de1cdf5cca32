// The login: a key in, or a sign-in at an identity provider; a session out. Afterwards the page is shown whose address was opened.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from './api.ts';
import { useCell } from './cell.ts';
import { html, type View } from './html.ts';
import { ConnectionBanner } from './parts/connection-banner.ts';
import { logIn } from './session.ts';
import { session } from './session-state.ts';
import { SignIn, useOffer } from './sign-in.ts';

export function Login(): View {
  const { hasEnded } = useCell(session);
  const offer = useOffer();
  const hasOthers = offer.identities.length > 0;
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = 'Log in · Model gateway';
    field.current?.focus();
  }, []);

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    const key = field.current?.value.trim() ?? '';
    if (key === '') {
      setProblem('Type a key first.');
      return;
    }
    setBusy(true);
    setProblem('');
    try {
      await logIn(key);
    } catch (error) {
      setBusy(false);
      setProblem(wordsFor(error as ApiError));
      field.current?.select();
    }
  }

  return html`<div class="alone">
    <${ConnectionBanner} />
    <main class="card login">
      <p class="brand">Model gateway</p>
      <h1>Log in</h1>
      ${hasEnded && html`<p class="note" role="status">Your session is over. Log in to go on where you were.</p>`}
      <${SignIn} offer=${offer} />
      <form onSubmit=${submit} novalidate>
        <label for="key">Key</label>
        <input
          id="key"
          ref=${field}
          type="password"
          autocomplete="current-password"
          spellcheck="false"
          aria-describedby="key-help${problem === '' ? '' : ' key-problem'}"
          aria-invalid=${problem !== ''}
        />
        <p class="quiet small" id="key-help">The master key, or a key with dashboard access. It is not kept in this browser.</p>
        ${problem !== '' && html`<p class="problem" id="key-problem" role="alert">${problem}</p>`}
        <button class=${hasOthers ? '' : 'primary'} disabled=${isBusy}>${isBusy ? 'Logging in…' : 'Log in'}</button>
      </form>
    </main>
  </div>`;
}

function wordsFor({ code, message }: ApiError): string {
  if (code === 'invalid_api_key') return 'This key is not valid. Check it for missing characters.';
  if (code === 'dashboard_access_denied')
    return 'This key does not open the dashboard. Ask an operator to grant it dashboard access.';
  return message;
}
