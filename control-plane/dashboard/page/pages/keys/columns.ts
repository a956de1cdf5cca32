// The columns of the table of keys.
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { Place } from '../../parts/place.ts';
import { RowButtons } from '../../parts/row-buttons.ts';
import type { Column } from '../../parts/table.ts';
import { Countdown, TimeText } from '../../parts/time-text.ts';
import { linkTo } from '../../router.ts';
import { localHourSpan, parseTime } from '../../time.ts';
import { type Key, lastUseOf, standingOf } from './key.ts';

/** The actions on a key. */
export type KeyAction = 'edit' | 'rotate' | 'deactivate' | 'delete';

export function columnsFor(act: (action: KeyAction, key: Key) => void): readonly Column<Key>[] {
  return [
    { title: 'Key', width: '27%', sort: ({ name }) => name, cell: (key) => html`<${Name} of=${key} />` },
    {
      title: 'User path',
      width: '19%',
      sort: ({ user_path }) => user_path,
      cell: (key) => html`<${Path} of=${key} />`,
    },
    { title: 'Models', width: '16%', cell: (key) => html`<${Models} of=${key} />` },
    { title: 'State', width: '16%', sort: (key) => standingOf(key), cell: (key) => html`<${State} of=${key} />` },
    {
      title: 'Last use',
      width: '16%',
      isLargestFirst: true,
      sort: ({ last_used_at }) => (last_used_at ? parseTime(last_used_at) : undefined),
      cell: (key) => html`<${LastUse} of=${key} />`,
    },
    {
      title: 'Actions',
      width: '6%',
      isUntitled: true,
      cell: (key) =>
        key.source === 'manual' &&
        html`<${RowButtons} name=${key.name} offered=${key.active ? ofActive : ofOthers} onChoose=${(action: KeyAction) => act(action, key)} />`,
    },
  ];
}

interface OfKey {
  readonly of: Key;
}

function Name({
  of: { name, description, labels = [], redacted_value, source, declared_at, replaced_by },
}: OfKey): View {
  return html`<div class="cell">
    <span class="name" title=${description === undefined ? name : `${name}: ${description}`}>${name}</span>
    <span class="cell-line">
      ${source === 'config' ? html`<${Badge} title="The configuration declares it; it is changed there">config</${Badge}><span class="small shrinks"><${Place} at=${declared_at} /></span>` : html`<code class="quiet">${redacted_value}</code>`}
      ${replaced_by !== undefined && html`<${Badge} tone="warn" title=${`The configuration declares the same secret (${replaced_by}), which is in force in the place of this key. Delete this one.`}>in config</${Badge}>`}
      ${labels.slice(0, 3).map((label) => html`<${Badge} key=${label}>${label}</${Badge}>`)}
      ${labels.length > 3 && html`<${Badge} title=${labels.join(', ')}>${`+${labels.length - 3}`}</${Badge}>`}
    </span>
  </div>`;
}

function Path({ of: { user_path, any_user_path, role } }: OfKey): View {
  const path = user_path ?? '/';
  return html`<div class="cell">
    ${
      any_user_path
        ? html`<span title="Each request names its user path in a header">any, by header</span>`
        : html`<a href=${linkTo('/rate-limits', { covers: path })} title=${`The limits of ${path}`}>${path}</a>`
    }
    ${role !== undefined && html`<span class="cell-line"><${Badge} tone="info" title="Its role on the dashboard and the admin API, within its user path">${role}</${Badge}></span>`}
  </div>`;
}

function Models({ of: { allowed_models: models = [] } }: OfKey): View {
  if (models.length === 0) return html`<span class="quiet">every model</span>`;
  const [first, ...others] = models;
  return html`<div class="cell" title=${models.join('\n')}>
    <code>${first}</code>
    ${others.length > 0 && html`<span class="quiet small">and ${others.length} more</span>`}
  </div>`;
}

function State({ of }: OfKey): View {
  const standing = standingOf(of);
  const { expires_at, deactivated_at } = of;
  if (standing === 'revoked')
    return html`<div class="cell"><span class="cell-line"><${Badge} tone="bad">revoked</${Badge}></span>
      ${deactivated_at !== undefined && html`<span class="quiet small"><${TimeText} at=${deactivated_at} /></span>`}
    </div>`;
  if (standing === 'expired')
    return html`<div class="cell"><span class="cell-line"><${Badge} tone="warn">expired</${Badge}></span>
      ${expires_at !== undefined && html`<span class="quiet small"><${TimeText} at=${expires_at} /></span>`}
    </div>`;
  return html`<div class="cell"><span class="cell-line"><${Badge} tone="good">active</${Badge}></span>
    ${expires_at !== undefined && html`<span class="quiet small">ends in <${Countdown} at=${expires_at} over="a moment" /></span>`}
  </div>`;
}

/** Uses are noted by the hour. */
function LastUse({ of: key }: OfKey): View {
  const { created_at, created_by } = key;
  const lastUse = lastUseOf(key);
  const by = created_by === 'master_key' ? 'the master key' : created_by;
  return html`<div class="cell">
    ${
      typeof lastUse === 'string'
        ? html`<span class="quiet">${lastUse}</span>`
        : html`<time dateTime=${lastUse.at} title="In this hour: uses are noted by the hour">${localHourSpan(parseTime(lastUse.at))}</time>`
    }
    ${created_at !== undefined && html`<span class="quiet small" title=${`Created by ${by}`}>created <${TimeText} at=${created_at} /></span>`}
  </div>`;
}

const ofActive = [
  ['edit', 'Edit', 'admin'],
  ['rotate', 'Rotate', 'admin'],
  ['deactivate', 'Deactivate', 'admin'],
] as const;
const ofOthers = [['delete', 'Delete', 'admin']] as const;
