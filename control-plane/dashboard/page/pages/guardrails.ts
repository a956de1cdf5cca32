// The page of guardrails: all in their order, what they have said, and a box to try a text on them.
import { useMemo, useState } from 'preact/hooks';
import { plural } from '../format.ts';
import { html, type View } from '../html.ts';
import { useLoad } from '../load.ts';
import { ConfirmDialog } from '../parts/dialog.ts';
import { ForRole } from '../parts/for-role.ts';
import { Empty, Loaded } from '../parts/states.ts';
import { Table } from '../parts/table.ts';
import { write } from '../parts/writes.ts';
import { columnsFor, type GuardrailAction } from './guardrails/columns.ts';
import { type Guardrail, type GuardrailListing, guardrailsPath } from './guardrails/guardrail.ts';
import { GuardrailDialog } from './guardrails/guardrail-dialog.ts';
import { Trial } from './guardrails/trial.ts';

interface Open {
  readonly action: GuardrailAction | 'new';
  readonly of?: Guardrail;
}

export function view(): View {
  const guardrails = useLoad<GuardrailListing>(guardrailsPath, 3_000);
  const [open, setOpen] = useState<Open | undefined>(undefined);
  const columns = useMemo(() => columnsFor((action, of) => setOpen({ action, of })), []);
  const done = (): void => {
    setOpen(undefined);
    guardrails.reload();
  };
  return html`<div class="page-head">
      <h1>Guardrails</h1>
      <${ForRole} needs="admin"><div class="buttons"><button class="primary" onClick=${() => setOpen({ action: 'new' })}>New guardrail</button></div></${ForRole}>
    </div>
    <${Loaded} of=${guardrails} what="guardrails">
      ${(listing: GuardrailListing) => html`<${Rails} listing=${listing} columns=${columns} onNew=${() => setOpen({ action: 'new' })} />`}
    </${Loaded}>
    <${ForRole} needs="operator"><${Trial} /></${ForRole}>
    ${open !== undefined && html`<${OpenDialog} open=${open} done=${done} close=${() => setOpen(undefined)} />`}`;
}

interface RailsProps {
  readonly listing: GuardrailListing;
  readonly columns: ReturnType<typeof columnsFor>;
  readonly onNew: () => void;
}

function Rails({ listing: { guardrails, stale }, columns, onNew }: RailsProps): View {
  if (guardrails.length === 0)
    return html`<section class="card"><${Empty} title="There are no guardrails, so nothing is checked or changed.">
      <p>A guardrail looks at what is asked and answered: it masks personal data, refuses words, or asks a judge. Declare them under <code>guardrails</code> in the configuration, or write one here. Begin in shadow, and look at the verdicts.</p>
      <${ForRole} needs="admin"><button class="primary" onClick=${onNew}>Write the first guardrail</button></${ForRole}>
    </${Empty}></section>`;
  return html`${stale && html`<p class="note warning" role="status">The state store does not answer: the guardrails in force are shown. They cannot be changed now.</p>`}
    <p class="quiet small">${plural(guardrails.length, 'guardrail')}, in the order in which they look at a request: each sees what the one before made of it.</p>
    <${Table}
      label="Guardrails"
      columns=${columns}
      rows=${guardrails}
      keyOf=${({ name }: Guardrail) => name}
      rowHeight=${60}
      minWidth="64rem"
    />`;
}

interface OpenProps {
  readonly open: Open;
  readonly done: () => void;
  readonly close: () => void;
}

function OpenDialog({ open: { action, of }, done, close }: OpenProps): View {
  if (of === undefined || action !== 'delete')
    return html`<${GuardrailDialog} of=${of} onDone=${done} onClose=${close} />`;
  const remove = async (): Promise<void> => {
    await write(`Guardrail ${of.name}: deleted`, guardrailsPath, { method: 'DELETE', body: { name: of.name } });
    done();
  };
  return html`<${ConfirmDialog} title=${`Delete ${of.name}`} action="Delete guardrail" onConfirm=${remove} onClose=${close}>
    <p>${
      of.overrides_config
        ? html`The guardrail of the configuration (<code>${of.declared_at}</code>) is in force again.`
        : 'It looks at no request any more, within a second.'
    }</p>
  </${ConfirmDialog}>`;
}
