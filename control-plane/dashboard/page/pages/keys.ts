// The page of keys: every managed key with its last use, and what can be done about it.
import { useMemo, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { count, plural } from '../format.ts';
import { html, type View } from '../html.ts';
import { useLoad } from '../load.ts';
import { type FilterField, FilterForm } from '../parts/filter-form.ts';
import { ForRole } from '../parts/for-role.ts';
import { Empty, Loaded } from '../parts/states.ts';
import { Table } from '../parts/table.ts';
import { place } from '../router.ts';
import { session, type Who } from '../session-state.ts';
import { nowMs } from '../time.ts';
import { columnsFor, type KeyAction } from './keys/columns.ts';
import { filterOf, type IssuedKey, type Key, keysPath } from './keys/key.ts';
import { DeactivateDialog, DeleteDialog, KeyDialog, RotateDialog, SecretDialog } from './keys/key-dialogs.ts';

const everyMs = 5_000;

const filters: readonly FilterField[] = [
  { name: 'q', label: 'Name, path, label or id', type: 'search', placeholder: 'Ann' },
  {
    name: 'state',
    label: 'Show',
    options: [
      ['', 'All keys'],
      ['active', 'Active'],
      ['soon', 'End within a week'],
      ['unused', 'Never used'],
      ['dashboard', 'With dashboard'],
      ['expired', 'Expired'],
      ['revoked', 'Revoked'],
    ],
  },
];

type Open = { readonly action: KeyAction | 'new'; readonly key?: Key } | { readonly issued: IssuedKey };

export function view(): View {
  const { query } = useCell(place);
  const { who } = useCell(session);
  const keys = useLoad<readonly Key[]>(keysPath, everyMs);
  const [open, setOpen] = useState<Open | undefined>(undefined);
  const columns = useMemo(() => columnsFor((action, key) => setOpen({ action, key })), []);
  const done = (issued?: IssuedKey): void => {
    setOpen(issued === undefined ? undefined : { issued });
    keys.reload();
  };
  return html`<div class="page-head">
      <h1>Keys</h1>
      <${ForRole} needs="admin"><div class="buttons"><button class="primary" onClick=${() => setOpen({ action: 'new' })}>New key</button></div></${ForRole}>
    </div>
    <${FilterForm} fields=${filters} label="Filter keys" />
    <${Loaded} of=${keys} what="keys">
      ${(all: readonly Key[]) => html`<${Keys} all=${all} query=${query} columns=${columns} onNew=${() => setOpen({ action: 'new' })} />`}
    </${Loaded}>
    ${open !== undefined && who !== undefined && html`<${OpenDialog} open=${open} who=${who} done=${done} close=${() => setOpen(undefined)} />`}`;
}

interface KeysProps {
  readonly all: readonly Key[];
  readonly query: URLSearchParams;
  readonly columns: ReturnType<typeof columnsFor>;
  readonly onNew: () => void;
}

function Keys({ all, query, columns, onNew }: KeysProps): View {
  const shown = useMemo(() => all.filter(filterOf(query, nowMs())), [all, query]);
  if (all.length === 0)
    return html`<${Empty} title="There are no managed keys.">
      <p>With one for each client, each can be limited, watched and revoked by itself.</p>
      <${ForRole} needs="admin"><button class="primary" onClick=${onNew}>Create the first key</button></${ForRole}>
    </${Empty}>`;
  if (shown.length === 0)
    return html`<${Empty} title="No key matches the filters."><p>Clear some of them to see more.</p></${Empty}>`;
  return html`${all[0]?.stale && html`<p class="note warning" role="status">The state store does not answer: the keys in force are shown, without their last use. They cannot be changed now.</p>`}
    <p class="quiet small">${shown.length === all.length ? plural(all.length, 'key') : `${count(shown.length)} of ${plural(all.length, 'key')}`}</p>
    <${Table}
      label="Keys"
      columns=${columns}
      rows=${shown}
      keyOf=${({ id }: Key) => id}
      rowHeight=${56}
      minWidth="64rem"
      markOf=${({ active }: Key) => (active ? '' : 'faded')}
    />`;
}

interface OpenProps {
  readonly open: Open;
  readonly who: Who;
  readonly done: (issued?: IssuedKey) => void;
  readonly close: () => void;
}

function OpenDialog({ open, who, done, close }: OpenProps): View {
  if ('issued' in open) return html`<${SecretDialog} of=${open.issued} onClose=${close} />`;
  const { action, key } = open;
  if (key === undefined || action === 'new' || action === 'edit')
    return html`<${KeyDialog} of=${key} who=${who} onDone=${done} onClose=${close} />`;
  const dialog = { rotate: RotateDialog, deactivate: DeactivateDialog, delete: DeleteDialog }[action];
  return html`<${dialog} of=${key} onDone=${done} onClose=${close} />`;
}
