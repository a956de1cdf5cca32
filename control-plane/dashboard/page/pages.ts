// Every page, one row each: its address, its name, who may see it, and the module that draws it, which is loaded when it is shown.
import type { FunctionComponent } from 'preact';

/** The exports of a module of `pages/`. */
export interface PageModule {
  readonly view: FunctionComponent;
}

export interface Page {
  /** Below the dashboard. A page also gets the addresses below its own. */
  readonly path: string;
  readonly title: string;
  readonly group: 'Now' | 'Rules' | 'Records' | 'Setup';
  /** `gateway`: only operators of the whole gateway. */
  readonly needs: 'subtree' | 'gateway';
  readonly load: () => Promise<PageModule>;
}

export const pages: readonly Page[] = [
  {
    path: '/',
    title: 'Overview',
    group: 'Now',
    needs: 'subtree',
    load: () => import('./pages/overview.ts'),
  },
  {
    path: '/rate-limits',
    title: 'Rate limits',
    group: 'Rules',
    needs: 'subtree',
    load: () => import('./pages/rate-limits.ts'),
  },
  {
    path: '/budgets',
    title: 'Budgets',
    group: 'Rules',
    needs: 'subtree',
    load: () => import('./pages/budgets.ts'),
  },
  {
    path: '/explain',
    title: 'Explain',
    group: 'Now',
    needs: 'subtree',
    load: () => import('./pages/explain.ts'),
  },
  {
    path: '/playground',
    title: 'Playground',
    group: 'Now',
    needs: 'subtree',
    load: () => import('./pages/playground.ts'),
  },
  {
    path: '/requests',
    title: 'Requests',
    group: 'Records',
    needs: 'subtree',
    load: () => import('./pages/requests.ts'),
  },
  {
    path: '/usage',
    title: 'Usage',
    group: 'Records',
    needs: 'subtree',
    load: () => import('./pages/usage.ts'),
  },
  {
    path: '/keys',
    title: 'Keys',
    group: 'Setup',
    needs: 'subtree',
    load: () => import('./pages/keys.ts'),
  },
  {
    path: '/models',
    title: 'Models and aliases',
    group: 'Setup',
    needs: 'gateway',
    load: () => import('./pages/models.ts'),
  },
  {
    path: '/config',
    title: 'Configuration',
    group: 'Setup',
    needs: 'gateway',
    load: () => import('./pages/config.ts'),
  },
  {
    path: '/guardrails',
    title: 'Guardrails',
    group: 'Rules',
    needs: 'gateway',
    load: () => import('./pages/guardrails.ts'),
  },
  {
    path: '/cache',
    title: 'Cache',
    group: 'Setup',
    needs: 'gateway',
    load: () => import('./pages/cache.ts'),
  },
];

/** The page of a path below the dashboard; undefined: there is none. */
export function pageOf(path: string): Page | undefined {
  return pages.find((page) => page.path === path || (page.path !== '/' && path.startsWith(`${page.path}/`)));
}
