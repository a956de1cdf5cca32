// A place in the configuration, as file and line: for those who may see the files a link to the text that is in force there.
import { useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { linkTo } from '../router.ts';
import { session } from '../session-state.ts';
import { useMay } from './for-role.ts';

/** `at`: `limits.yaml:12`; undefined: it is not known. */
export function Place({ at }: { readonly at: string | undefined }): View {
  const { who } = useCell(session);
  const may = useMay();
  if (at === undefined) return null;
  const [, file, line] = /^(.+):(\d+)$/.exec(at) ?? [];
  if (file === undefined || who?.scoped !== false || !may('operator'))
    return html`<code class="quiet" title=${at}>${at}</code>`;
  return html`<a class="place-link" href=${linkTo('/config', { file, line })} title=${`${at}: the text in force`}><code>${at}</code></a>`;
}
