// The largest of a kind, each with a bar that shows its share of the largest.
import { html, type View } from '../../html.ts';

export interface TopRow {
  readonly name: string;
  /** The value of the bar. */
  readonly size: number;
  readonly text: string;
  /** Where it is looked into. */
  readonly href: string;
}

const most = 6;

export function TopList({ rows, what }: { readonly rows: readonly TopRow[]; readonly what: string }): View {
  if (rows.length === 0) return html`<p class="state quiet">No ${what} in this time.</p>`;
  const shown = rows.toSorted((a, b) => b.size - a.size).slice(0, most);
  const largest = shown[0]?.size ?? 1;
  return html`<ul class="list">
    ${shown.map(
      ({ name, size, text, href }) => html`<li class="share-line" key=${name}>
        <a class="name" href=${href}>${name}</a><span class="quiet small">${text}</span>
        <div class="meter" aria-hidden="true"><div class="meter-fill" style=${{ width: `${((100 * size) / largest).toFixed(1)}%` }}></div></div>
      </li>`,
    )}
  </ul>
  ${rows.length > most && html`<p class="quiet small">and ${rows.length - most} more</p>`}`;
}
