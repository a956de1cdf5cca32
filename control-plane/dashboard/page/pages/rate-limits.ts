// The page of rate limits.
import { html, type View } from '../html.ts';
export function view(): View {
  return html`<h1>Rate limits</h1>`;
}
