// What runs and is not what git says: planes with another revision, and what operators have set, by age, each to be put into git.
import { useState } from 'preact/hooks';
import { duration, plural } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { Badge } from '../../parts/badge.ts';
import { CopyButton } from '../../parts/copy-button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { useMay } from '../../parts/for-role.ts';
import { Loaded } from '../../parts/states.ts';
import { type Column, Table } from '../../parts/table.ts';
import { TimeText } from '../../parts/time-text.ts';
import { parseTime } from '../../time.ts';

type Kind = 'rule' | 'budget' | 'budget_windows' | 'alias' | 'guardrail' | 'key' | 'drain' | 'pin';

interface Override {
  readonly kind: Kind;
  readonly id: string;
  readonly name: string;
  readonly updated_by?: string;
  readonly created_at?: string;
  readonly reason?: string;
  readonly expires_at?: string;
  readonly declared_at?: string;
  readonly in_git?: true;
  readonly declarable: boolean;
  readonly kept_out?: string;
}

/** The answer of /admin/config/drift. */
export interface Drift {
  readonly server_time: string;
  readonly control_plane: { readonly config_revision: string };
  readonly proxies: readonly {
    readonly instance: string;
    readonly config_revision: string;
    readonly differs_since?: string;
    readonly environment_matches: boolean;
  }[];
  readonly overrides: {
    readonly total: number;
    readonly issued_keys: number;
    readonly oldest_at?: string;
    readonly in_git: number;
    readonly rows: readonly Override[];
    readonly complete: boolean;
  };
}

/** The answer of /admin/config/patch. */
interface Patch {
  readonly patch: string;
  readonly files: readonly string[];
  readonly taken: number;
  readonly left_out: readonly { readonly kind: Kind; readonly name: string; readonly why: string }[];
  readonly complete: boolean;
  readonly problems: readonly string[];
}

const nouns: Readonly<Record<Kind, string>> = {
  rule: 'Rate limit',
  budget: 'Budget',
  budget_windows: 'Budget windows',
  alias: 'Virtual model',
  guardrail: 'Guardrail',
  key: 'Issued key',
  drain: 'Drained target',
  pin: 'Pinned revision',
};

/** What is put into git: one, or everything. */
interface Wanted {
  readonly title: string;
  readonly query: string;
}

export interface DriftProps {
  readonly of: Drift;
  /** What lies on the disk of the control plane; undefined: not known yet. */
  readonly onDisk: string | undefined;
}

export function DriftCard({ of, onDisk }: DriftProps): View {
  const [wanted, want] = useState<Wanted | undefined>(undefined);
  const mayPatch = useMay()('operator');
  const { overrides, server_time: time } = of;
  const { total, issued_keys: keys, oldest_at: oldest, rows, complete } = overrides;
  const others = planesBeside(of, onDisk);
  const now = parseTime(time);
  const set = rows.filter(({ kind }) => kind !== 'key');
  const toSet = set.map((row) => ({
    ...row,
    ageMs: row.created_at === undefined ? 0 : now - parseTime(row.created_at),
  }));
  return html`<section class="card config-drift">
    <div class="page-head">
      <h2>Drift</h2>
      <div class="badges">
        ${others.length > 0 && html`<${Badge} tone="bad">${plural(others.length, 'plane')} without what is on disk</${Badge}>`}
        ${total > 0 && html`<${Badge} tone="warn">${plural(total, 'override')}${oldest === undefined ? '' : `, the oldest ${duration(now - parseTime(oldest))}`}</${Badge}>`}
        ${others.length === 0 && total === 0 && html`<${Badge} tone="good">No drift</${Badge}>`}
      </div>
    </div>
    ${
      others.length === 0
        ? html`<p class="quiet small">Control plane and proxies run what is on disk${onDisk === undefined ? '' : html`, <code>${onDisk}</code>`}.</p>`
        : html`<ul class="list">${others.map(({ name, revision, since, why }) => html`<li key=${name}><strong>${name}</strong> runs <code>${revision}</code>${why}${since !== undefined && html`, since <${TimeText} at=${since} />`}</li>`)}</ul>`
    }
    ${
      set.length === 0
        ? html`<p class="quiet">Operators have set nothing outside git${keys === 0 ? '' : ` but ${plural(keys, 'issued key')}`}.</p>`
        : html`<${Table} label="Set outside git" columns=${columnsFor(mayPatch ? want : undefined)} rows=${toSet.toSorted((one, other) => other.ageMs - one.ageMs)} keyOf=${({ kind, id }: Row) => `${kind} ${id}`} minWidth="56rem" sort="drift" />`
    }
    ${!complete && set.length < total && html`<p class="note small">The newest ${set.length} of ${total} are shown; model-gateway export has all.</p>`}
    ${
      mayPatch &&
      (total > 0 || keys > 0) &&
      html`<p class="page-line">
        <button type="button" onClick=${() => want({ title: 'Put everything into git', query: '' })}>Put everything into git</button>
        ${keys > 0 && html`<span class="quiet small">${plural(keys, 'issued key')} among it, for admins: with hashes, never a secret.</span>`}
      </p>`
    }
    ${wanted !== undefined && html`<${PatchDialog} key=${wanted.query} of=${wanted} onClose=${() => want(undefined)} />`}
  </section>`;
}

interface Beside {
  readonly name: string;
  readonly revision: string;
  readonly since?: string | undefined;
  readonly why: string;
}

/** Planes with another revision than the disk has, or with another environment. */
function planesBeside({ control_plane: own, proxies }: Drift, onDisk: string | undefined): Beside[] {
  const wanted = onDisk ?? own.config_revision;
  const all = [
    { name: 'Control plane', revision: own.config_revision, since: undefined, isAlike: true },
    ...proxies.map(({ instance, config_revision, differs_since, environment_matches }) => {
      return { name: instance, revision: config_revision, since: differs_since, isAlike: environment_matches };
    }),
  ];
  return all
    .filter(({ revision, isAlike }) => revision !== wanted || !isAlike)
    .map(({ isAlike, ...plane }) => ({
      ...plane,
      why: isAlike ? '' : ', in another environment than the control plane',
    }));
}

type Row = Override & { readonly ageMs: number };

function columnsFor(want: ((wanted: Wanted) => void) | undefined): readonly Column<Row>[] {
  return [
    {
      title: 'Age',
      width: '6rem',
      sort: ({ ageMs }) => ageMs,
      cell: ({ ageMs, created_at: at }) => (at === undefined ? '–' : html`<span title=${at}>${duration(ageMs)}</span>`),
    },
    { title: 'What', width: '9rem', sort: ({ kind }) => nouns[kind], cell: ({ kind }) => nouns[kind] },
    {
      title: 'Name',
      sort: ({ name }) => name,
      cell: ({ name }) => html`<span class="name" title=${name}>${name}</span>`,
    },
    { title: 'By', width: '9rem', sort: ({ updated_by: by = '' }) => by, cell: ({ updated_by: by }) => by ?? '–' },
    { title: 'Why', cell: ({ reason }) => html`<span title=${reason}>${reason ?? '–'}</span>` },
    {
      title: 'Ends',
      width: '9rem',
      cell: ({ expires_at: end }) => (end === undefined ? '–' : html`<${TimeText} at=${end} />`),
    },
    {
      title: 'Git',
      width: '9rem',
      isUntitled: true,
      cell: ({ kind, id, name, declarable, in_git: isSame, kept_out: why }) => {
        if (isSame === true)
          return html`<${Badge} tone="info" title="Delete it: the configuration says the same">git says so too</${Badge}>`;
        if (!declarable) return html`<span class="quiet small" title=${why}>not for git</span>`;
        if (want === undefined) return null;
        const query = `?kind=${kind}&id=${encodeURIComponent(id)}`;
        return html`<button type="button" aria-label=${`Put into git: ${name}`} onClick=${() => want({ title: `Put ${name} into git`, query })}>Put into git</button>`;
      },
    },
  ];
}

function PatchDialog({ of: { title, query }, onClose }: { readonly of: Wanted; readonly onClose: () => void }): View {
  const patch = useLoad<Patch>(`/admin/config/patch${query}`);
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Loaded} of=${patch} what="the patch">${(body: Patch) => html`<${PatchText} of=${body} />`}</${Loaded}>
  </${Dialog}>`;
}

function PatchText({ of: { patch, taken, left_out: leftOut, complete, problems } }: { readonly of: Patch }): View {
  return html`<div class="patch">
    ${
      problems.length > 0
        ? html`<p class="note warning">There is no patch: the files would hold mistakes.</p><ul class="list">${problems.map((text) => html`<li key=${text}><code>${text}</code></li>`)}</ul>`
        : patch === ''
          ? html`<p>There is nothing that a patch could put into git.</p>`
          : html`<p>For ${plural(taken, 'override')}, against the files in force. In the repository, <code>git apply --directory=DIR FILE</code> takes it; DIR is the directory of the configuration. Once it is live, delete what operators have set: until then that goes on winning.</p>
              <div class="copied"><pre tabindex="0">${patch}</pre><${CopyButton} text=${patch} what="patch" /></div>`
    }
    ${
      leftOut.length > 0 &&
      html`<h3>Left out</h3>
        <ul class="list">${leftOut.map(({ kind, name, why }) => html`<li key=${`${kind} ${name}`}><strong>${nouns[kind]} ${name}</strong>: ${why}</li>`)}</ul>
        ${!complete && html`<p class="quiet small">and more.</p>`}`
    }
  </div>`;
}
