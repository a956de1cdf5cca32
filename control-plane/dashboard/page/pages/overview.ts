// The overview page.
import { html, type View } from '../html.ts';
export function view(): View {
  return html`<h1>Overview</h1>`;
}
