// Begins the dashboard in a browser: theme, addresses, then the frame.
import { render } from 'preact';
import { App } from './app.ts';
import { html } from './html.ts';
import { pageOf } from './pages.ts';
import { place, startRouter } from './router.ts';
import { startTheme } from './theme.ts';

startTheme();
startRouter();
// The module of the page is needed as soon as it is known who asks; the frame says when it cannot be had.
pageOf(place.value.path)
  ?.load()
  .catch(() => undefined);
const root = document.getElementById('page');
if (root !== null) render(html`<${App} />`, root);
