// Fields that narrow what a page shows. Their values stand in the address, so that a link shows the same.
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { place, setQuery } from '../router.ts';
import { fieldText } from './dialog.ts';

export interface FilterField {
  /** The parameter of the address. */
  readonly name: string;
  readonly label: string;
  /** Absent: any text. An empty value stands for all. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  readonly placeholder?: string;
  readonly type?: 'text' | 'search' | 'date' | 'number';
}

/** How long a viewer pauses before what was typed counts. Milliseconds. */
const pauseMs = 250;

export function FilterForm({
  fields,
  label,
}: {
  readonly fields: readonly FilterField[];
  readonly label: string;
}): View {
  const { query } = useCell(place);
  const given = fields.filter(({ name }) => query.has(name));
  const clear = (): void => setQuery(Object.fromEntries(fields.map(({ name }) => [name, undefined])));
  return html`<form class="filters" role="search" aria-label=${label} onSubmit=${(event: Event) => event.preventDefault()}>
    ${fields.map((field) => html`<${Field} key=${field.name} field=${field} value=${query.get(field.name) ?? ''} />`)}
    ${given.length > 0 && html`<button type="button" class="plain" onClick=${clear}>Clear filters</button>`}
  </form>`;
}

function Field({ field, value }: { readonly field: FilterField; readonly value: string }): View {
  const { name, label, options, placeholder, type = 'text' } = field;
  const id = useId();
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    clearTimeout(timer.current);
    setTyped(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = (text: string): void => setQuery({ [name]: text === '' ? undefined : text });
  const onType = (event: Event): void => {
    const text = fieldText(event);
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => apply(text), pauseMs);
  };
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${
      options === undefined
        ? html`<input id=${id} type=${type} value=${typed} placeholder=${placeholder} autocomplete="off" spellcheck="false" onInput=${onType} />`
        : html`<select id=${id} value=${value} onChange=${(event: Event) => apply(fieldText(event))}>
            ${options.map(([each, text]) => html`<option value=${each} key=${each}>${text}</option>`)}
          </select>`
    }
  </div>`;
}
