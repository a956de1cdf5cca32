// Light or dark: as the system says, unless the viewer has chosen. The choice stays in this browser.
import { Cell } from './cell.ts';

export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const place = 'gateway-theme';

export const theme = new Cell<Theme>('auto');

/** Colours may have changed: by the viewer or by the system. */
export const themeTurn = new Cell(0);

export function startTheme(): void {
  chooseTheme(themes.find((each) => each === stored()) ?? 'auto');
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => themeTurn.set(themeTurn.value + 1));
}

export function chooseTheme(chosen: Theme): void {
  theme.set(chosen);
  document.documentElement.dataset['theme'] = chosen;
  try {
    localStorage.setItem(place, chosen);
  } catch {
    // A browser that keeps nothing shows it until the page is closed.
  }
  themeTurn.set(themeTurn.value + 1);
}

function stored(): string | null {
  try {
    return localStorage.getItem(place);
  } catch {
    return null;
  }
}
