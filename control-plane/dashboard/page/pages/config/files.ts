// The files of the configuration in force, and the text of one of them with its lines; a link may point to one line.
import { useEffect, useRef } from 'preact/hooks';
import { count } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { CopyButton } from '../../parts/copy-button.ts';
import { Empty, Loaded } from '../../parts/states.ts';
import { linkTo } from '../../router.ts';

/** The answer of /admin/config/files. */
interface Files {
  readonly config_revision: string;
  readonly files?: readonly { readonly file: string; readonly bytes: number }[];
  readonly text?: string;
}

const path = '/admin/config/files';
const variable = `\${VARIABLE}`;

export interface FilesInForceProps {
  /** Of the address: the file that is open, and the line that is marked. */
  readonly file: string | undefined;
  readonly line: number | undefined;
}

export function FilesInForce({ file, line }: FilesInForceProps): View {
  const files = useLoad<Files>(file === undefined ? path : `${path}?${new URLSearchParams({ file })}`, 10_000);
  return html`<section class="card config-files" id="files">
    <h2>YAML in force</h2>
    <${Loaded} of=${files} what="files">${(body: Files) => html`<${Shown} of=${body} file=${file} line=${line} />`}</${Loaded}>
  </section>`;
}

function Shown({ of: { files, text }, file, line }: FilesInForceProps & { readonly of: Files }): View {
  if (files === undefined)
    return html`<${Empty} title="The files in force are not known here."><p>The directory has changed since, and no copy of them could be written: see <code>GATEWAY_DATA</code>. What differs is below.</p></${Empty}>`;
  return html`<ul class="list file-list" aria-label="Files">
      ${files.map(
        ({ file: name, bytes }) =>
          html`<li key=${name}><a class="foreign" href=${linkTo('/config', { file: name })} aria-current=${name === file ? 'true' : undefined}>${name}</a> <span class="quiet small">${count(bytes)} bytes</span></li>`,
      )}
    </ul>
    ${
      file === undefined
        ? html`<p class="quiet small">Choose a file to read it as it is in force. Secrets stay references, such as <code>${variable}</code>.</p>`
        : html`<${Text} key=${file} file=${file} text=${text} line=${line} />`
    }`;
}

interface TextProps {
  readonly file: string;
  /** Undefined: it is too long. */
  readonly text: string | undefined;
  readonly line: number | undefined;
}

function Text({ file, text, line }: TextProps): View {
  const marked = useRef<HTMLLIElement>(null);
  useEffect(() => marked.current?.scrollIntoView({ block: 'center' }), [line]);
  if (text === undefined) return html`<p class="note">It is too long to be shown here: read it in git.</p>`;
  return html`<div class="page-line">
      <p class="small quiet"><code class="foreign">${file}</code>, without comments. <code>[hidden]</code> may be a secret.</p>
      <${CopyButton} text=${text} what="text" />
    </div>
    <ol class="yaml-lines" tabindex="0" aria-label=${`The text of ${file}`}>
      ${text.split('\n').map(
        (words, index) => html`<li
          key=${index}
          ref=${index + 1 === line ? marked : undefined}
          class=${index + 1 === line ? 'marked' : undefined}
          aria-current=${index + 1 === line ? 'true' : undefined}
        ><code>${words}</code></li>`,
      )}
    </ol>`;
}
