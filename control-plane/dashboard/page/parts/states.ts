// The view in place of missing data: it is loading, there is none, or it failed. Each gives advice.
import type { ComponentChildren } from 'preact';
import { html, type View } from '../html.ts';
import type { Load } from '../load.ts';

export function Loading({ what }: { readonly what: string }): View {
  return html`<p class="state quiet" role="status">Loading ${what}…</p>`;
}

/** `children`: what to do about it. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }): View {
  return html`<div class="state empty">
    <p><strong>${title}</strong></p>
    ${children}
  </div>`;
}

export function ErrorNote({ message, retry }: { readonly message: string; readonly retry?: () => void }): View {
  return html`<div class="state error" role="alert">
    <p>${message}</p>
    ${retry !== undefined && html`<button onClick=${retry}>Try again</button>`}
  </div>`;
}

export interface LoadedProps<Body> {
  readonly of: Load<Body>;
  /** Of what is loaded, such as `rate limits`. */
  readonly what: string;
  readonly children: (body: Body) => ComponentChildren;
}

/** The data, or what stands in its place. Older data stays while newer cannot be had, and says so. */
export function Loaded<Body>({ of, what, children }: LoadedProps<Body>): View {
  const { body, error, reload } = of;
  if (body === undefined) {
    return error === undefined
      ? html`<${Loading} what=${what} />`
      : html`<${ErrorNote} message=${error.message} retry=${reload} />`;
  }
  return html`${error !== undefined && html`<p class="note warning" role="status">Not current: ${what}. ${error.message}</p>`}${children(body)}`;
}
