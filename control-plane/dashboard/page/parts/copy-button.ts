// Copies a text, and says that it did.
import { useEffect, useState } from 'preact/hooks';
import { html, type View } from '../html.ts';

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): View {
  const [said, say] = useState('');
  useEffect(() => {
    if (said === '') return undefined;
    const timer = setTimeout(() => say(''), 3000);
    return () => clearTimeout(timer);
  }, [said]);
  return html`<button type="button" class="copy" onClick=${() => void copy(text).then(say)}>
    ${said === '' ? `Copy ${what}` : said}<span class="unseen" role="status">${said}</span>
  </button>`;
}

/** Browsers give the clipboard to pages over HTTPS and on this machine only. */
async function copy(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return 'Copied';
  } catch {
    return 'Select and copy it by hand';
  }
}
