// Where a thing of an explanation comes from: a place in the configuration, or an operator.
import { html, type View } from '../../html.ts';
import { Place } from '../../parts/place.ts';
import type { Origin } from './explanation.ts';

export function OriginText({ of: { source, declared_at, updated_by } }: { readonly of: Origin }): View {
  if (source === 'config') return html`<${Place} at=${declared_at} />`;
  if (source === undefined) return null;
  return html`<span>set by ${updated_by === 'master_key' ? 'the master key' : updated_by}</span>`;
}
