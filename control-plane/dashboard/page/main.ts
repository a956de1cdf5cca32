// Begins the dashboard in a browser: theme, addresses, then the frame.
import { render } from 'preact';
import { App } from './app.ts';
import { html } from './html.ts';
import { startRouter } from './router.ts';
import { startTheme } from './theme.ts';

startTheme();
startRouter();
const root = document.getElementById('page');
if (root !== null) render(html`<${App} />`, root);
