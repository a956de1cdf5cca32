// Fields that narrow what a page shows. Their values stand in the address, so that a link shows the same, and Back goes from filter to filter.
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { place, setQuery } from '../router.ts';
import { fieldText } from './dialog.ts';
import { type NameKind, Suggestions } from './suggestions.ts';

export interface FilterField {
  /** The parameter of the address. */
  readonly name: string;
  readonly label: string;
  /** Absent: any text. An empty value stands for all. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  readonly placeholder?: string;
  readonly type?: 'text' | 'search' | 'date' | 'number';
  /** It is completed with such names. */
  readonly suggest?: NameKind;
  /** It sets one of these parameters: its values are `<name>=<value>`. Absent: it sets `name`. */
  readonly names?: readonly string[];
}

const namesOf = ({ name, names = [name] }: FilterField): readonly string[] => names;

/** The query of the API for the fields of a page. Dates win over minutes, which the API takes alone. */
export function askedFor(fields: readonly FilterField[], query: URLSearchParams): URLSearchParams {
  const isDated = ['start_date', 'end_date'].some((name) => query.get(name));
  const names = fields.flatMap(namesOf).filter((name) => query.get(name) && !(isDated && name === 'minutes'));
  return new URLSearchParams(names.map((name) => [name, query.get(name) ?? '']));
}

/** The value of a field as its options have it. */
function chosenIn({ name, names }: FilterField, query: URLSearchParams): string {
  if (names === undefined) return query.get(name) ?? '';
  const given = names.find((each) => query.has(each));
  return given === undefined ? '' : `${given}=${query.get(given)}`;
}

/** The parameters of a field with this value. */
function changesTo({ name, names }: FilterField, value: string): Readonly<Record<string, string | undefined>> {
  if (names === undefined) return { [name]: value === '' ? undefined : value };
  const none = Object.fromEntries(names.map((each) => [each, undefined]));
  return { ...none, ...Object.fromEntries(new URLSearchParams(value)) };
}

/** How long a viewer pauses before what was typed counts. Milliseconds. */
const pauseMs = 250;
/** Another filter begins at its first page. */
const fromStart = { offset: undefined };

export function FilterForm({
  fields,
  label,
}: {
  readonly fields: readonly FilterField[];
  readonly label: string;
}): View {
  const { query } = useCell(place);
  const given = fields.filter((field) => chosenIn(field, query) !== '');
  const clear = (): void =>
    setQuery({ ...Object.fromEntries(fields.flatMap(namesOf).map((name) => [name, undefined])), ...fromStart });
  return html`<form class="filters" role="search" aria-label=${label} onSubmit=${(event: Event) => event.preventDefault()}>
    ${fields.map((field) => html`<${Field} key=${field.name} field=${field} value=${chosenIn(field, query)} />`)}
    ${given.length > 0 && html`<button type="button" class="plain" onClick=${clear}>Clear filters</button>`}
  </form>`;
}

function Field({ field, value }: { readonly field: FilterField; readonly value: string }): View {
  const { name, label, options, placeholder, type = 'text', suggest } = field;
  const id = useId();
  const [isUsed, setUsed] = useState(false);
  const list = suggest === undefined ? undefined : `${id}-names`;
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    clearTimeout(timer.current);
    setTyped(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = (text: string, what?: string): void => setQuery({ ...changesTo(field, text), ...fromStart }, what);
  const onType = (event: Event): void => {
    const text = fieldText(event);
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => apply(text, `filter ${name}`), pauseMs);
  };
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${
      options === undefined
        ? html`<input id=${id} type=${type} value=${typed} placeholder=${placeholder} autocomplete="off" spellcheck="false" list=${list} onFocus=${() => setUsed(true)} onInput=${onType} />`
        : html`<select id=${id} value=${value} onChange=${(event: Event) => apply(fieldText(event))}>
            ${options.map(([each, text]) => html`<option value=${each} key=${each}>${text}</option>`)}
          </select>`
    }
    ${isUsed && list !== undefined && html`<${Suggestions} id=${list} of=${suggest} text=${typed} />`}
  </div>`;
}
