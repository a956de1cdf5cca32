// Chooses an action of a row of the dashboard in the menu of the row.
import type { Locator, Page } from 'playwright-core';

/** `of`: the name of the row, where `scope` has several. */
export async function chooseAction(scope: Page | Locator, action: string, of = ''): Promise<void> {
  const named = (text: string): string | RegExp => (of === '' ? new RegExp(`^${text}: `) : `${text}: ${of}`);
  await scope.getByRole('button', { name: named('Actions'), exact: true }).click();
  await scope.getByRole('button', { name: named(action), exact: true }).click();
}
