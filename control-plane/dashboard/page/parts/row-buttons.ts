// The actions of a row of a table, each named after the row: one is a button, several are in a menu that a button opens, and those that the
// viewer's role may not do are left out.
import { useId, useRef, useState } from 'preact/hooks';
import type { Role } from '../../../../domain/keys/role.ts';
import { html, type View } from '../html.ts';
import { useMay } from './for-role.ts';

export interface RowButtonsProps<Action extends string> {
  /** The name of the row, for screen readers. */
  readonly name: string;
  /** `needs`: the role; absent: everybody may. */
  readonly offered: readonly (readonly [action: Action, text: string, needs?: Role])[];
  readonly onChoose: (action: Action) => void;
}

export function RowButtons<Action extends string>({ name, offered: all, onChoose }: RowButtonsProps<Action>): View {
  const may = useMay();
  const offered = all.filter(([, , needs]) => needs === undefined || may(needs));
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const choose = (action: Action): void => {
    menu.current?.hidePopover();
    onChoose(action);
  };
  const buttons = (kind: string): View[] =>
    offered.map(
      ([action, text]) =>
        html`<button type="button" class=${kind} key=${action} aria-label=${`${text}: ${name}`} onClick=${() => choose(action)}>${text}</button>`,
    );
  if (offered.length === 0) return null;
  if (offered.length === 1) return html`<div class="row-actions">${buttons('row')}</div>`;
  return html`<div class="row-actions">
    <button
      type="button"
      class="row menu-opener"
      ref=${opener}
      popovertarget=${id}
      aria-haspopup="true"
      aria-expanded=${isOpen}
      aria-label=${`Actions: ${name}`}
      onKeyDown=${(event: KeyboardEvent) => step(event, menu.current)}
    ><span aria-hidden="true">⋯</span></button>
    <div
      id=${id}
      ref=${menu}
      class="action-menu"
      popover="auto"
      role="group"
      aria-label=${`Actions: ${name}`}
      onBeforeToggle=${(event: ToggleEvent) => event.newState === 'open' && put(menu.current, opener.current)}
      onToggle=${(event: ToggleEvent) => setOpen(event.newState === 'open')}
      onKeyDown=${(event: KeyboardEvent) => step(event, menu.current)}
    >${buttons('plain')}</div>
  </div>`;
}

/** The height of an action, and of what is around them. Pixels. */
const [actionHeight, around] = [34, 14];

/** Below its button, or above where there is no room; it goes when the page is scrolled. */
function put(menu: HTMLElement | null, opener: HTMLElement | null): void {
  if (menu === null || opener === null) return;
  const { top, bottom, left, right } = opener.getBoundingClientRect();
  const isBelow = bottom + menu.childElementCount * actionHeight + around < innerHeight;
  menu.style.top = isBelow ? `${bottom + 4}px` : 'auto';
  menu.style.bottom = isBelow ? 'auto' : `${innerHeight - top + 4}px`;
  // Towards the middle of the window, where there is room.
  const width = document.documentElement.clientWidth;
  const isAtStart = left + right < width;
  menu.style.left = isAtStart ? `${left}px` : 'auto';
  menu.style.right = isAtStart ? 'auto' : `${width - right}px`;
  const followScroll = (): void => {
    // The event of a scroll that ended before the menu opened comes after it.
    if (menu.matches(':popover-open') && opener.getBoundingClientRect().top === top) return;
    removeEventListener('scroll', followScroll, true);
    menu.hidePopover();
  };
  addEventListener('scroll', followScroll, true);
}

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** The arrow keys go from action to action. */
function step(event: KeyboardEvent, menu: HTMLElement | null): void {
  const by = steps[event.key];
  if (by === undefined || menu === null) return;
  event.preventDefault();
  if (!menu.matches(':popover-open')) menu.showPopover();
  const actions = [...menu.querySelectorAll('button')];
  const at = actions.indexOf(document.activeElement as HTMLButtonElement);
  const next = at === -1 ? (by === 1 ? 0 : actions.length - 1) : (at + by + actions.length) % actions.length;
  actions[next]?.focus();
}
