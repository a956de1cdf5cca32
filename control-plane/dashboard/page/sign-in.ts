// Signing in at an identity provider: the login page sends the browser there, and hears afterwards what became of it.
import { useEffect, useState } from 'preact/hooks';
import { type ApiError, ask } from './api.ts';
import { html, type View } from './html.ts';

/** The answer of /admin/sign-in. */
interface Offer {
  readonly identities: readonly { readonly name: string; readonly title: string }[];
  readonly problem: { readonly code: string; readonly message: string } | null;
}

const path = '/admin/sign-in';
const nothing: Offer = { identities: [], problem: null };

/** What can be signed in with; nothing until that is known, and where it cannot be asked for: a key opens the dashboard all the same. */
export function useOffer(): Offer {
  const [offer, setOffer] = useState(nothing);
  useEffect(() => {
    ask<Offer>(path).then(
      ({ body }) => setOffer(body),
      () => setOffer(nothing),
    );
  }, []);
  return offer;
}

/** A button for each identity, and why the last sign-in failed. */
export function SignIn({ offer: { identities, problem } }: { readonly offer: Offer }): View {
  const [failed, setFailed] = useState('');
  const [busy, setBusy] = useState('');
  const shown = failed === '' ? (problem?.message ?? '') : failed;

  async function begin(identity: string): Promise<void> {
    setBusy(identity);
    try {
      const page = location.pathname + location.search;
      const { body } = await ask<{ url: string }>(path, { method: 'POST', body: { identity, page } });
      location.assign(body.url);
    } catch (error) {
      setBusy('');
      setFailed((error as ApiError).message);
    }
  }

  return html`<div class="sign-in">
    ${shown !== '' && html`<p class="problem" role="alert">${shown}</p>`}
    ${identities.map(
      ({ name, title }) =>
        html`<button key=${name} class="primary" disabled=${busy !== ''} onClick=${() => void begin(name)}>
          ${busy === name ? `Asking ${title}…` : `Sign in with ${title}`}
        </button>`,
    )}
    ${identities.length > 0 && html`<p class="quiet small or"><span>or with a key</span></p>`}
  </div>`;
}
