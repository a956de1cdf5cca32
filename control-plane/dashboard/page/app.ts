// The whole window: the login, or the frame with a page in it.
import { useEffect } from 'preact/hooks';
import { probe } from './api.ts';
import { useCell } from './cell.ts';
import { connection, noteLoss } from './connection.ts';
import { Frame } from './frame.ts';
import { html, type View } from './html.ts';
import { Login } from './login.ts';
import { ConnectionBanner } from './parts/connection-banner.ts';
import { findSession } from './session.ts';
import { session } from './session-state.ts';

export function App(): View {
  const { standing } = useCell(session);
  const { isUp } = useCell(connection);
  useEffect(() => {
    // Also once the control plane is back, when nobody has been known yet.
    if (standing === 'unknown' && isUp) findSession().catch((error: Error) => noteLoss(error.message, probe));
  }, [standing, isUp]);
  if (standing === 'in') return html`<${Frame} />`;
  if (standing === 'out') return html`<${Login} />`;
  return html`<div class="alone"><${ConnectionBanner} />
    <p class="quiet" role="status">Asking who you are…</p>
  </div>`;
}
