// The mode of a budget, where it is not the usual one.
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import type { Budget } from './budget.ts';

const titles: Readonly<Record<Budget['mode'], string | undefined>> = {
  enforce: undefined,
  hard: 'What a whole call may cost is set aside before it is made',
  shadow: 'Reports and refuses nothing',
};

export function ModeBadge({ mode }: Pick<Budget, 'mode'>): View {
  const title = titles[mode];
  return title === undefined ? null : html`<${Badge} tone="info" title=${title}>${mode}</${Badge}>`;
}
