// Names that a field is completed with, as the viewer types: what there is already.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html, type View } from '../html.ts';
import { useLoad } from '../load.ts';

/** Of the query of /admin/names. */
export type NameKind = 'models' | 'providers' | 'user_paths' | 'labels' | 'keys' | 'rules';

interface Names {
  readonly names: readonly { readonly name: string; readonly title?: string }[];
}

export interface SuggestionsProps {
  /** The `list` of the field. */
  readonly id: string;
  readonly of: NameKind;
  /** That stands in the field. */
  readonly text: string;
}

/** How long a viewer pauses before names are asked for. Milliseconds. */
const pauseMs = 150;

/** The names that were found last stay until others are. */
export function Suggestions({ id, of, text }: SuggestionsProps): View {
  const [search, setSearch] = useState(text);
  const { body } = useLoad<Names>(`/admin/names?${new URLSearchParams({ of, search })}`);
  const known = useRef<Names['names']>([]);
  if (body !== undefined) known.current = body.names;
  useEffect(() => {
    const timer = setTimeout(() => setSearch(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<datalist id=${id}>
    ${known.current.map(({ name, title }) => html`<option key=${name} value=${name} label=${title}></option>`)}
  </datalist>`;
}
