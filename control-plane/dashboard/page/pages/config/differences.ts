// The configuration on disk compared with the one in force: the mistakes that keep it out, and every value that would change.
import { plural } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { CopyButton } from '../../parts/copy-button.ts';
import { type Column, Table } from '../../parts/table.ts';
import { TimeText } from '../../parts/time-text.ts';

interface Problem {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly path?: string;
  readonly message: string;
  readonly text: string;
}

interface Value {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed';
  readonly line?: number;
  readonly before?: string;
  readonly after?: string;
}

/** A file that differs. */
export interface File {
  readonly file: string;
  readonly change: 'added' | 'removed' | 'changed';
  readonly values?: readonly Value[];
  readonly uncompared?: 'not_yaml' | 'too_large';
}

/** What it means. */
export interface Change {
  readonly effect?: 'loosened' | 'tightened';
  readonly words: string;
}

/** The answer of /admin/config/differences. */
export interface DiskState {
  readonly directory: string;
  readonly config_revision: string;
  readonly config_source: 'directory' | 'last-good' | 'pinned' | 'rollout';
  readonly applied_at: string | null;
  readonly disk_revision: string;
  readonly same: boolean;
  readonly problems: readonly Problem[];
  readonly files?: readonly File[];
  readonly complete?: boolean;
  readonly changes?: readonly Change[];
  readonly set_aside?: readonly string[];
}

export function OnDisk({ of }: { readonly of: DiskState }): View {
  const { directory, config_revision, config_source, applied_at, disk_revision, same, problems } = of;
  const [tone, text] = same
    ? (['good', 'In force'] as const)
    : problems.length > 0
      ? (['bad', 'Rejected'] as const)
      : (['warn', config_source === 'pinned' || config_source === 'rollout' ? 'Waits' : 'Being read'] as const);
  return html`<section class="card config-disk">
    <div class="page-head">
      <h2>On disk</h2>
      <div class="badges"><${Badge} tone=${tone}>${text}</${Badge}></div>
    </div>
    <dl class="facts">
      <dt>Directory</dt><dd><code>${directory}</code></dd>
      <dt>In force</dt>
      <dd><code>${config_revision}</code> ${config_source === 'last-good' && html`<${Badge} tone="warn">the last good copy</${Badge}>`}${config_source === 'pinned' && html`<${Badge} tone="warn">pinned</${Badge}>`}${config_source === 'rollout' && html`<${Badge} tone="info">before a rollout</${Badge}>`}
        ${applied_at !== null && html` <span class="quiet small">put in force <${TimeText} at=${applied_at} /></span>`}</dd>
      ${!same && html`<dt>On disk</dt><dd><code>${disk_revision}</code></dd>`}
    </dl>
    ${
      same
        ? html`<p class="quiet">The directory holds what is in force. A change is in force within a second of its arrival.</p>`
        : html`<${Waiting} of=${of} />`
    }
  </section>`;
}

const justChanged = 'The content has just changed, and is put in force as soon as it stays the same for a moment.';
const waitsFor: Readonly<Record<DiskState['config_source'], string>> = {
  directory: justChanged,
  'last-good': justChanged,
  pinned: 'A revision is pinned: the content of the directory waits until the pin ends.',
  rollout: 'The content of the directory waits for its rollout.',
};

function Waiting({ of }: { readonly of: DiskState }): View {
  const { problems, files, complete, config_source: source } = of;
  return html`${
    problems.length === 0
      ? html`<p>${waitsFor[source]}</p>`
      : html`<p>${plural(problems.length, 'mistake')} to correct; until then the configuration before stays in force.</p>
        <${Problems} of=${problems} />`
  }
    <h3>What would change</h3>
    <${Changes} of=${of} />
    ${
      files === undefined
        ? html`<p class="quiet">The files in force are not known here, so there is nothing to compare.</p>`
        : html`${files.map((file) => html`<${FileDifference} key=${file.file} of=${file} />`)}
          ${files.length === 0 && html`<p class="quiet">No file differs.</p>`}
          ${complete === false && html`<p class="note small">There are more than five hundred differences; the others are not shown.</p>`}`
    }`;
}

interface ChangesProps {
  readonly of: Pick<DiskState, 'changes' | 'set_aside'>;
}

/** Entry by entry, what loosens first. */
export function Changes({ of: { changes = [], set_aside: aside = [] } }: ChangesProps): View {
  const rank = ({ effect }: Change): number => (effect === 'loosened' ? 0 : effect === 'tightened' ? 1 : 2);
  return html`${
    changes.length > 0 &&
    html`<ul class="list">
      ${changes
        .toSorted((one, other) => rank(one) - rank(other))
        .map(({ words, effect }) => {
          const [verb = '', ...rest] = words.split(': ');
          const tone = effect === 'loosened' ? 'warn' : effect === 'tightened' ? 'good' : 'info';
          return html`<li key=${words}><${Badge} tone=${tone}>${verb}</${Badge}> ${rest.join(': ')}</li>`;
        })}
    </ul>`
  }
  ${aside.length > 0 && html`<p class="quiet small">Compared without ${aside.join(', ')}: that counts as it is in force, because there is a mistake in it.</p>`}`;
}

function Problems({ of }: { readonly of: readonly Problem[] }): View {
  return html`<div class="copied">
    <ul class="list problems">
      ${of.map(
        ({ file, line, column, path, message, text }) => html`<li key=${text}>
          <code class="place">${line === undefined ? file : `${file}:${line}:${column ?? 1}`}</code>
          <span>${path !== undefined && html`<code>${path}</code> `}${message}</span>
        </li>`,
      )}
    </ul>
    <${CopyButton} text=${of.map(({ text }) => text).join('\n')} what="mistakes" />
  </div>`;
}

const tones = { added: 'good', removed: 'bad', changed: 'info' } as const;

interface FileProps {
  readonly of: File;
  /** What both sides are called. */
  readonly sides?: readonly [before: string, after: string];
}

export function FileDifference({ of: { file, change, values, uncompared }, sides }: FileProps): View {
  const said =
    uncompared === 'not_yaml'
      ? 'It cannot be read as YAML, so its values are not compared.'
      : uncompared === 'too_large'
        ? 'The files are too long to be compared here: use check-config --diff.'
        : (values ?? []).length === 0
          ? 'Only comments or the layout differ.'
          : '';
  return html`<div class="file-difference">
    <p><code>${file}</code> <${Badge} tone=${tones[change]}>${change}</${Badge}> <span class="quiet">${said}</span></p>
    ${
      values !== undefined &&
      values.length > 0 &&
      html`<${Table} label=${`${sides === undefined ? 'Differences' : 'Changes'} in ${file}`} columns=${columnsFor(sides ?? ['In force', 'On disk'])} rows=${values} keyOf=${({ path }: Value) => path} rowHeight=${34} minWidth="48rem" />`
    }
  </div>`;
}

const columnsFor = ([before, after]: readonly [string, string]): readonly Column<Value>[] => [
  { title: 'Line', width: '4rem', isNumber: true, cell: ({ line }) => (line === undefined ? '–' : String(line)) },
  { title: 'Change', width: '6rem', cell: ({ change }) => html`<${Badge} tone=${tones[change]}>${change}</${Badge}>` },
  { title: 'Value', width: '44%', cell: ({ path }) => html`<code title=${path}>${path}</code>` },
  {
    title: before,
    width: '22%',
    cell: (value) => html`<${Side} text=${value.before} isThere=${value.change !== 'added'} />`,
  },
  {
    title: after,
    width: '22%',
    cell: (value) => html`<${Side} text=${value.after} isThere=${value.change !== 'removed'} />`,
  },
];

function Side({ text, isThere }: { readonly text: string | undefined; readonly isThere: boolean }): View {
  if (!isThere) return html`<span class="quiet">–</span>`;
  if (text === undefined) return html`<span class="quiet" title="It may be a secret">not shown</span>`;
  return html`<code title=${text}>${text}</code>`;
}
