// A short word that marks a thing; the colour only repeats what the word says.
import type { ComponentChildren } from 'preact';
import { html, type View } from '../html.ts';

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'info';

export function Badge({
  tone = 'plain',
  title,
  children,
}: {
  readonly tone?: Tone;
  readonly title?: string;
  readonly children?: ComponentChildren;
}): View {
  return html`<span class=${`badge ${tone}`} title=${title}>${children}</span>`;
}
