// Where an entry comes from: a file and line of the configuration, or the operator who set it.
import { html, type View } from '../html.ts';
import { Place } from './place.ts';
import { TimeText } from './time-text.ts';

export interface Sourced {
  /** The configuration declares it. */
  readonly isDeclared: boolean;
  readonly overrides_config: boolean;
  readonly declared_at?: string;
  readonly updated_by?: string;
  readonly updated_at?: string;
}

export function SourceCell({ of }: { readonly of: Sourced }): View {
  const { isDeclared, overrides_config, declared_at, updated_by, updated_at } = of;
  if (isDeclared) return html`<div class="cell"><span>Config</span><${Place} at=${declared_at} /></div>`;
  const by = updated_by === 'master_key' ? 'master key' : updated_by;
  return html`<div class="cell">
    <span class="cell-line">${overrides_config ? 'Override' : 'Manual'} ${overrides_config && html`<span class="small shrinks"><${Place} at=${declared_at} /></span>`}</span>
    <span class="quiet small">${by}${updated_at !== undefined && html`, <${TimeText} at=${updated_at} />`}</span>
  </div>`;
}
