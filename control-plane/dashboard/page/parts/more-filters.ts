// Filters that few need: folded away, until one of them is given.
import { useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { place } from '../router.ts';
import { type FilterField, FilterForm } from './filter-form.ts';

export function MoreFilters({
  fields,
  label,
}: {
  readonly fields: readonly FilterField[];
  readonly label: string;
}): View {
  const { query } = useCell(place);
  const given = fields.filter(({ name }) => query.has(name)).length;
  return html`<details class="more-filters" open=${given > 0}>
    <summary class="small">More filters</summary>
    <${FilterForm} fields=${fields} label=${label} />
  </details>`;
}
